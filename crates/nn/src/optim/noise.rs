//! Noise on gradients, drawn on the device within a step's program.

use farad_ir::{Binary, DType, Graph, NodeId, Op, Scalar, Shape, Unary};

use farad_tensor::engine::EngineStep;

/// Normal noise that an optimizer adds to gradients after clipping (Neelakantan and others, 2015). Its variance
/// is `scale / (1 + step)^decay`, with steps counted from 0.
///
/// ```
/// use farad::optim::GradientNoise;
/// let noise = GradientNoise::default();
/// assert_eq!((noise.scale, noise.decay), (0.01, 0.55));
/// assert!((noise.deviation(0) - 0.1).abs() < 1e-6);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GradientNoise {
    /// The variance at the first step.
    pub scale: f32,
    /// How fast it falls.
    pub decay: f32,
}

impl Default for GradientNoise {
    /// 0.01, falling with the power 0.55.
    fn default() -> GradientNoise {
        GradientNoise { scale: 0.01, decay: 0.55 }
    }
}

impl GradientNoise {
    /// The standard deviation at a step, counted from 0.
    pub fn deviation(&self, step: u64) -> f32 {
        (self.scale as f64 / (1.0 + step as f64).powf(self.decay as f64)).sqrt() as f32
    }

    /// Draws from the device's random numbers and gives the program of step number `n` what it needs of them.
    pub(super) fn record(&self, step: &mut EngineStep, n: u64) -> Noise {
        let keys = [step.draw(), step.draw()];
        Noise { keys, deviation: step.number(self.deviation(n)) }
    }
}

/// The nodes of noise in a step's graph.
#[derive(Clone, Copy, Hash)]
pub(super) struct Noise {
    /// Seed and counter of two draws.
    keys: [[NodeId; 4]; 2],
    deviation: NodeId,
}

impl Noise {
    /// Gradients with noise added.
    pub fn add(&self, graph: &mut Graph, g: NodeId) -> NodeId {
        let shape = graph.shape(g);
        let [u, v] = self.keys.map(|key| fraction(graph, key, shape));
        // Box and Muller: 1 - u is never zero, so the logarithm is finite.
        let one = graph.fill_like(u, 1.0);
        let u = graph.sub(one, u);
        let log = graph.unary(Unary::Log, u);
        let radius = graph.scale(log, -2.0);
        let radius = graph.unary(Unary::Sqrt, radius);
        let angle = graph.scale(v, std::f64::consts::TAU);
        let cosine = graph.unary(Unary::Cos, angle);
        let normal = graph.mul(radius, cosine);
        let deviation = graph.spread(self.deviation, shape);
        let noise = graph.mul(normal, deviation);
        let noise = graph.cast(noise, graph.dtype(g));
        graph.add(g, noise)
    }
}

/// Uniform random numbers from 0 to 1, as [`Tensor::rand`](farad_tensor::Tensor::rand) makes them.
fn fraction(graph: &mut Graph, key: [NodeId; 4], shape: Shape) -> NodeId {
    let bits = graph.push(Op::Random(shape), &key);
    let eight = graph.fill(Scalar::u32(8), shape);
    let upper = graph.binary(Binary::Shr, bits, eight);
    let upper = graph.cast(upper, DType::F32);
    graph.scale(upper, 1.0 / (1u32 << 24) as f64)
}

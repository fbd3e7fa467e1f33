//! Layers as Python objects, made from a table with one row each.
//!
//! Invariant: a layer made here draws the same numbers as in Rust, in the same order. Start at [`ROWS`].

use farad::nn::{self, Cell, Layer, Module, MultiHeadAttention, Recurrent, State};
use farad::train::settings::SettingsTable as _;
use farad::{Attention, Tensor};
use farad_lm::{ModelOptions, Transformer};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::arguments::{EachAxis, ShapeArg};
use crate::array::{ArrayArg, PyArray};
use crate::device::DeviceArg;
use crate::errors::{detached, guarded};
use crate::keywords::Keywords;
use crate::parameter::PyParameter;

/// A layer, whatever it takes.
pub trait AnyLayer: Send + Sync {
    /// Its parts.
    fn module(&self) -> &dyn Module;
    /// The result, and states where it has some. May panic.
    fn call(&self, inputs: &[Tensor], causal: bool) -> (Tensor, Option<Vec<Tensor>>);
}

/// What takes one array and gives one.
struct Plain<L>(L);

impl<L: Layer + Send + Sync> AnyLayer for Plain<L> {
    fn module(&self) -> &dyn Module {
        &self.0
    }

    fn call(&self, inputs: &[Tensor], _: bool) -> (Tensor, Option<Vec<Tensor>>) {
        assert!(inputs.len() == 1, "{}: takes one array ({} vs 1)", self.0.kind(), inputs.len());
        (self.0.forward(&inputs[0]), None)
    }
}

impl<C: Cell + Send + Sync> AnyLayer for Recurrent<C>
where
    Recurrent<C>: Module,
{
    fn module(&self) -> &dyn Module {
        self
    }

    fn call(&self, inputs: &[Tensor], _: bool) -> (Tensor, Option<Vec<Tensor>>) {
        let (x, given) = inputs.split_first().expect("a call has at least one array");
        let (y, states) = if given.is_empty() {
            self.forward(x)
        } else {
            let states: Vec<C::State> = given.chunks(C::State::PARTS).map(C::State::from_parts).collect();
            self.forward_from(x, &states)
        };
        (y, Some(states.iter().flat_map(State::parts).collect()))
    }
}

impl AnyLayer for MultiHeadAttention {
    fn module(&self) -> &dyn Module {
        self
    }

    fn call(&self, inputs: &[Tensor], causal: bool) -> (Tensor, Option<Vec<Tensor>>) {
        let options = if causal { Attention::new().causal() } else { Attention::new() };
        let (queries, keys, values) = match inputs {
            [x] => (x, x, x),
            [queries, keys, values] => (queries, keys, values),
            _ => panic!("MultiHeadAttention: takes one array or three ({} vs 3)", inputs.len()),
        };
        (self.forward(queries, keys, values, &options), None)
    }
}

impl AnyLayer for Transformer {
    fn module(&self) -> &dyn Module {
        self
    }

    fn call(&self, inputs: &[Tensor], _: bool) -> (Tensor, Option<Vec<Tensor>>) {
        assert!(inputs.len() == 1, "Transformer: takes one array ({} vs 1)", inputs.len());
        (self.forward(&inputs[0]), None)
    }
}

/// A decoder transformer with the sizes that the arguments name.
fn transformer(k: &Keywords) -> PyResult<Box<dyn AnyLayer>> {
    let mut options = ModelOptions {
        layers: k.need("layers")?,
        heads: k.need("heads")?,
        width: k.need("width")?,
        context: k.need("context")?,
        vocabulary: k.need("vocabulary")?,
        dropout: k.or("dropout", 0.0)?,
        tied: k.or("tied", true)?,
        bias: k.or("bias", true)?,
        ..ModelOptions::default()
    };
    for key in ["activation", "positions"] {
        if let Some(name) = k.get::<String>(key)? {
            options.assign(key, &name).map_err(crate::errors::raised)?;
        }
    }
    Ok(Box::new(Transformer::new(&options).map_err(|error| crate::errors::raised(error.into()))?))
}

/// A row of the table.
pub struct LayerRow {
    name: &'static str,
    arguments: &'static str,
    about: &'static str,
    make: fn(&Keywords) -> PyResult<Box<dyn AnyLayer>>,
}

fn plain(layer: impl Layer + Send + Sync + 'static) -> PyResult<Box<dyn AnyLayer>> {
    Ok(Box::new(Plain(layer)))
}

fn convolution<const N: usize>(k: &Keywords) -> PyResult<nn::Conv<N>> {
    let mut layer = nn::Conv::<N>::new(k.need("inputs")?, k.need("outputs")?, k.need::<EachAxis>("kernel")?);
    if let Some(stride) = k.get::<EachAxis>("stride")? {
        layer = layer.stride(stride);
    }
    if let Some(padding) = k.get::<EachAxis>("padding")? {
        layer = layer.padding(padding);
    }
    if let Some(dilation) = k.get::<EachAxis>("dilation")? {
        layer = layer.dilation(dilation);
    }
    if let Some(groups) = k.get("groups")? {
        layer = layer.groups(groups);
    }
    Ok(if k.or("bias", true)? { layer } else { layer.without_bias() })
}

fn transposed<const N: usize>(k: &Keywords) -> PyResult<nn::ConvTranspose<N>> {
    let mut layer =
        nn::ConvTranspose::<N>::new(k.need("inputs")?, k.need("outputs")?, k.need::<EachAxis>("kernel")?);
    if let Some(stride) = k.get::<EachAxis>("stride")? {
        layer = layer.stride(stride);
    }
    if let Some(padding) = k.get::<EachAxis>("padding")? {
        layer = layer.padding(padding);
    }
    if let Some(padding) = k.get::<EachAxis>("output_padding")? {
        layer = layer.output_padding(padding);
    }
    if let Some(dilation) = k.get::<EachAxis>("dilation")? {
        layer = layer.dilation(dilation);
    }
    if let Some(groups) = k.get("groups")? {
        layer = layer.groups(groups);
    }
    Ok(if k.or("bias", true)? { layer } else { layer.without_bias() })
}

fn batch_norm<const N: usize>(k: &Keywords) -> PyResult<nn::BatchNorm<N>> {
    let layer = nn::BatchNorm::<N>::new(k.need("channels")?);
    let layer = layer.momentum(k.or("momentum", 0.1)?).epsilon(k.or("epsilon", 1e-5)?);
    Ok(if k.or("affine", true)? { layer } else { layer.without_affine() })
}

fn instance_norm<const N: usize>(k: &Keywords) -> PyResult<nn::InstanceNorm<N>> {
    let layer = nn::InstanceNorm::<N>::new(k.need("channels")?).epsilon(k.or("epsilon", 1e-5)?);
    Ok(if k.or("affine", false)? { layer.affine() } else { layer })
}

fn max_pool<const N: usize>(k: &Keywords) -> PyResult<nn::MaxPool<N>> {
    let mut layer = nn::MaxPool::<N>::new(k.need::<EachAxis>("kernel")?);
    if let Some(stride) = k.get::<EachAxis>("stride")? {
        layer = layer.stride(stride);
    }
    if let Some(padding) = k.get::<EachAxis>("padding")? {
        layer = layer.padding(padding);
    }
    Ok(layer)
}

fn avg_pool<const N: usize>(k: &Keywords) -> PyResult<nn::AvgPool<N>> {
    let mut layer = nn::AvgPool::<N>::new(k.need::<EachAxis>("kernel")?);
    if let Some(stride) = k.get::<EachAxis>("stride")? {
        layer = layer.stride(stride);
    }
    if let Some(padding) = k.get::<EachAxis>("padding")? {
        layer = layer.padding(padding);
    }
    Ok(layer)
}

/// Last axes of these sizes. May panic.
fn last_axes(sizes: &[usize]) -> nn::LastAxes {
    match *sizes {
        [a] => a.into(),
        [a, b] => [a, b].into(),
        [a, b, c] => [a, b, c].into(),
        [a, b, c, d] => [a, b, c, d].into(),
        _ => panic!("norm: one to four axes are wanted: {sizes:?} ({} vs 4)", sizes.len()),
    }
}

fn recurrent<C: Cell>(k: &Keywords) -> PyResult<Recurrent<C>> {
    let mut layer = Recurrent::<C>::new(k.need("inputs")?, k.need("hidden")?);
    if let Some(layers) = k.get::<usize>("layers")?.filter(|&layers| layers != 1) {
        layer = layer.layers(layers);
    }
    if k.or("bidirectional", false)? {
        layer = layer.bidirectional();
    }
    if !k.or("bias", true)? {
        layer = layer.without_bias();
    }
    if k.or("batch_first", false)? {
        layer = layer.batch_first();
    }
    Ok(layer.dropout(k.or("dropout", 0.0)?))
}

const CONVOLUTION: &str = "inputs, outputs, kernel, stride=1, padding=0, dilation=1, groups=1, bias=True";
const TRANSPOSED: &str =
    "inputs, outputs, kernel, stride=1, padding=0, output_padding=0, dilation=1, groups=1, bias=True";
const RECURRENT: &str =
    "inputs, hidden, layers=1, bidirectional=False, bias=True, batch_first=False, dropout=0.0";

macro_rules! rows {
    ($($name:ident ($arguments:expr) $about:literal, |$k:ident| $make:expr;)*) => {
        /// All layers.
        pub const ROWS: &[LayerRow] = &[$(LayerRow {
            name: stringify!($name),
            arguments: $arguments,
            about: $about,
            make: |$k| $make,
        }),*];
    };
}

#[rustfmt::skip]
rows! {
    Linear ("inputs, outputs, bias=True") "Fully connected: [.., inputs] to [.., outputs].", |k| { let l = nn::Linear::new(k.need("inputs")?, k.need("outputs")?); plain(if k.or("bias", true)? { l } else { l.without_bias() }) };
    Conv1d (CONVOLUTION) "Convolution over one axis.", |k| plain(convolution::<1>(k)?);
    Conv2d (CONVOLUTION) "Convolution over two axes.", |k| plain(convolution::<2>(k)?);
    Conv3d (CONVOLUTION) "Convolution over three axes.", |k| plain(convolution::<3>(k)?);
    ConvTranspose1d (TRANSPOSED) "Transposed convolution over one axis.", |k| plain(transposed::<1>(k)?);
    ConvTranspose2d (TRANSPOSED) "Transposed convolution over two axes.", |k| plain(transposed::<2>(k)?);
    BatchNorm1d ("channels, momentum=0.1, epsilon=1e-5, affine=True") "Normalizes channels over a batch of series.", |k| plain(batch_norm::<1>(k)?);
    BatchNorm2d ("channels, momentum=0.1, epsilon=1e-5, affine=True") "Normalizes channels over a batch of pictures.", |k| plain(batch_norm::<2>(k)?);
    BatchNorm3d ("channels, momentum=0.1, epsilon=1e-5, affine=True") "Normalizes channels over a batch of volumes.", |k| plain(batch_norm::<3>(k)?);
    InstanceNorm1d ("channels, epsilon=1e-5, affine=False") "Normalizes each channel of each series.", |k| plain(instance_norm::<1>(k)?);
    InstanceNorm2d ("channels, epsilon=1e-5, affine=False") "Normalizes each channel of each picture.", |k| plain(instance_norm::<2>(k)?);
    InstanceNorm3d ("channels, epsilon=1e-5, affine=False") "Normalizes each channel of each volume.", |k| plain(instance_norm::<3>(k)?);
    LayerNorm ("shape, epsilon=1e-5, affine=True") "Normalizes the last axes.", |k| { let l = nn::LayerNorm::new(last_axes(&k.need::<ShapeArg>("shape")?.0)).epsilon(k.or("epsilon", 1e-5)?); plain(if k.or("affine", true)? { l } else { l.without_affine() }) };
    RmsNorm ("shape, epsilon=1e-6, affine=True") "Divides the last axes by their root mean square.", |k| { let mut l = nn::RmsNorm::new(last_axes(&k.need::<ShapeArg>("shape")?.0)); if let Some(e) = k.get("epsilon")? { l = l.epsilon(e); } plain(if k.or("affine", true)? { l } else { l.without_affine() }) };
    GroupNorm ("groups, channels, epsilon=1e-5, affine=True") "Normalizes groups of channels.", |k| { let l = nn::GroupNorm::new(k.need("groups")?, k.need("channels")?).epsilon(k.or("epsilon", 1e-5)?); plain(if k.or("affine", true)? { l } else { l.without_affine() }) };
    Embedding ("entries, width, padding=None") "A vector for each of so many numbers.", |k| { let l = nn::Embedding::new(k.need("entries")?, k.need("width")?); plain(match k.get("padding")? { Some(at) => l.padding(at), None => l }) };
    Dropout ("probability=0.5, whole_channels=False") "Zeroes elements at random while training.", |k| { let l = nn::Dropout::new(k.or("probability", 0.5)?); plain(if k.or("whole_channels", false)? { l.whole_channels() } else { l }) };
    Flatten ("") "All axes after the first as one.", |_k| plain(nn::Flatten::new());
    Identity ("") "What comes in goes out.", |_k| plain(nn::Identity);
    MaxPool1d ("kernel, stride=None, padding=0") "The largest of each window over one axis.", |k| plain(max_pool::<1>(k)?);
    MaxPool2d ("kernel, stride=None, padding=0") "The largest of each window over two axes.", |k| plain(max_pool::<2>(k)?);
    AvgPool1d ("kernel, stride=None, padding=0") "The mean of each window over one axis.", |k| plain(avg_pool::<1>(k)?);
    AvgPool2d ("kernel, stride=None, padding=0") "The mean of each window over two axes.", |k| plain(avg_pool::<2>(k)?);
    AdaptiveAvgPool1d ("outputs") "Means of so many windows that divide an axis.", |k| plain(nn::AdaptiveAvgPool1d::new(k.need::<EachAxis>("outputs")?));
    AdaptiveAvgPool2d ("outputs") "Means of so many windows that divide two axes.", |k| plain(nn::AdaptiveAvgPool2d::new(k.need::<EachAxis>("outputs")?));
    AdaptiveMaxPool1d ("outputs") "The largest of so many windows that divide an axis.", |k| plain(nn::AdaptiveMaxPool1d::new(k.need::<EachAxis>("outputs")?));
    AdaptiveMaxPool2d ("outputs") "The largest of so many windows that divide two axes.", |k| plain(nn::AdaptiveMaxPool2d::new(k.need::<EachAxis>("outputs")?));
    PixelShuffle ("factor") "Channels as finer pixels.", |k| plain(nn::PixelShuffle::new(k.need("factor")?));
    Upsample ("factor, bilinear=False, align_corners=False") "Pictures so many times as large.", |k| { let f = k.need::<EachAxis>("factor")?; let l = if k.or("bilinear", false)? { nn::Upsample::bilinear(f) } else { nn::Upsample::nearest(f) }; plain(if k.or("align_corners", false)? { l.align_corners() } else { l }) };
    LearnedPositions ("places, width") "Adds a learned vector for each place.", |k| plain(nn::LearnedPositions::new(k.need("places")?, k.need("width")?));
    SinusoidalPositions ("width") "Adds sines and cosines of each place.", |k| plain(nn::SinusoidalPositions::new(k.need("width")?));
    Relu ("") "max(x, 0).", |_k| plain(nn::Relu);
    Gelu ("") "Gaussian error linear unit.", |_k| plain(nn::Gelu);
    GeluTanh ("") "Gaussian error linear unit by tanh.", |_k| plain(nn::GeluTanh);
    Tanh ("") "Hyperbolic tangent.", |_k| plain(nn::Tanh);
    Sigmoid ("") "1 / (1 + e^-x).", |_k| plain(nn::Sigmoid);
    Silu ("") "x · sigmoid(x).", |_k| plain(nn::Silu);
    Mish ("") "x · tanh(softplus(x)).", |_k| plain(nn::Mish);
    Softplus ("") "log(1 + e^x).", |_k| plain(nn::Softplus);
    Selu ("") "Scaled exponential linear unit.", |_k| plain(nn::Selu);
    Relu6 ("") "Held between 0 and 6.", |_k| plain(nn::Relu6);
    HardSigmoid ("") "A sigmoid of straight lines.", |_k| plain(nn::HardSigmoid);
    HardSwish ("") "x · hard_sigmoid(x).", |_k| plain(nn::HardSwish);
    Softsign ("") "x / (1 + |x|).", |_k| plain(nn::Softsign);
    LogSigmoid ("") "log(sigmoid(x)).", |_k| plain(nn::LogSigmoid);
    TanhShrink ("") "x - tanh(x).", |_k| plain(nn::TanhShrink);
    LeakyRelu ("slope=0.01") "x where positive, slope · x elsewhere.", |k| plain(nn::LeakyRelu { slope: k.or("slope", 0.01)? });
    PRelu ("slopes=1") "As LeakyRelu, with learned slopes.", |k| plain(nn::PRelu::new(k.or("slopes", 1)?));
    Elu ("alpha=1.0") "x where positive, alpha · (e^x - 1) elsewhere.", |k| plain(nn::Elu { alpha: k.or("alpha", 1.0)? });
    Celu ("alpha=1.0") "As Elu, smooth for every alpha.", |k| plain(nn::Celu { alpha: k.or("alpha", 1.0)? });
    HardTanh ("low=-1.0, high=1.0") "Held between two numbers.", |k| plain(nn::HardTanh { low: k.or("low", -1.0)?, high: k.or("high", 1.0)? });
    Softmax ("axis=-1") "Exponentials divided by their sum.", |k| plain(nn::Softmax { axis: k.or("axis", -1)? });
    LogSoftmax ("axis=-1") "The logarithm of Softmax.", |k| plain(nn::LogSoftmax { axis: k.or("axis", -1)? });
    Glu ("axis=-1") "The first half times the sigmoid of the second.", |k| plain(nn::Glu { axis: k.or("axis", -1)? });
    SwiGlu ("axis=-1") "The first half by silu times the second.", |k| plain(nn::SwiGlu { axis: k.or("axis", -1)? });
    GeGlu ("axis=-1") "The first half by gelu times the second.", |k| plain(nn::GeGlu { axis: k.or("axis", -1)? });
    Rnn (RECURRENT) "A recurrent layer over sequences; gives outputs and states.", |k| Ok(Box::new(recurrent::<nn::RnnCell>(k)?));
    Gru (RECURRENT) "Gated recurrent units; gives outputs and states.", |k| Ok(Box::new(recurrent::<nn::GruCell>(k)?));
    Lstm (RECURRENT) "Long short-term memory; gives outputs and states.", |k| Ok(Box::new(recurrent::<nn::LstmCell>(k)?));
    Transformer ("layers, heads, width, context, vocabulary, dropout=0.0, tied=True, bias=True, activation='gelu', positions='learned'") "A decoder transformer: tokens [batch, time] to logits [batch, time, vocabulary].", |k| transformer(k);
    MultiHeadAttention ("width, heads, bias=True, dropout=0.0") "Attention by several heads.", |k| { let l = MultiHeadAttention::new(k.need("width")?, k.need("heads")?).dropout(k.or("dropout", 0.0)?); Ok(Box::new(if k.or("bias", true)? { l } else { l.without_bias() })) };
}

/// A layer of the table. `farad.nn` has a class for each row.
#[pyclass(name = "Layer", module = "farad.nn", subclass, frozen, weakref)]
pub struct PyLayer {
    layer: Box<dyn AnyLayer>,
    row: &'static LayerRow,
}

#[pymethods]
impl PyLayer {
    #[new]
    #[pyo3(signature = (kind, *arguments, **keywords))]
    fn new(
        kind: &str,
        arguments: &Bound<'_, PyTuple>,
        keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyLayer> {
        let row = ROWS.iter().find(|row| row.name == kind);
        let row = row.ok_or_else(|| PyValueError::new_err(format!("layer: unknown kind: {kind}")))?;
        let keywords = Keywords::new(row.name, row.arguments, arguments, keywords)?;
        let layer = guarded(|| (row.make)(&keywords))??;
        Ok(PyLayer { layer, row })
    }

    #[pyo3(signature = (*inputs, states=None, causal=false))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        inputs: Vec<ArrayArg>,
        states: Option<Vec<ArrayArg>>,
        causal: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        if inputs.is_empty() {
            return Err(PyTypeError::new_err(format!("{}: takes an array", self.row.name)));
        }
        let inputs: Vec<Tensor> =
            inputs.into_iter().chain(states.into_iter().flatten()).map(|x| x.0).collect();
        crate::lines::note(self.row.name);
        let (y, states) = guarded(|| self.layer.call(&inputs, causal))?;
        let y = PyArray::from(y).into_pyobject(py)?.into_any();
        let Some(states) = states else { return Ok(y) };
        let states: Vec<PyArray> = states.into_iter().map(PyArray::from).collect();
        Ok((y, states).into_pyobject(py)?.into_any())
    }

    /// All parameters with their paths.
    fn named_parameters(&self) -> Vec<(String, PyParameter)> {
        let all = self.layer.module().named_parameters();
        all.into_iter().map(|(name, parameter)| (name, PyParameter { parameter })).collect()
    }

    /// All arrays that are kept and not trained, with their paths.
    fn named_buffers(&self) -> Vec<(String, PyArray)> {
        self.layer
            .module()
            .named_buffers()
            .into_iter()
            .map(|(name, buffer)| (name, buffer.value().into()))
            .collect()
    }

    /// The arrays of all parameters and buffers with their paths.
    fn state_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        for (name, tensor) in self.layer.module().state() {
            all.set_item(name, PyArray::from(tensor).into_pyobject(py)?)?;
        }
        Ok(all)
    }

    /// Puts an array into the parameter or buffer of this path; `False` if there is none.
    fn _put(&self, path: &str, value: ArrayArg) -> PyResult<bool> {
        let module = self.layer.module();
        let parameters = module.named_parameters();
        if let Some((_, parameter)) = parameters.iter().find(|(name, _)| name == path) {
            let (old, new) = (parameter.value(), value.0);
            same_kind(path, &old, &new)?;
            parameter
                .set(crate::errors::guarded(|| new.to_device(old.device()))?.map_err(crate::errors::raised)?);
            return Ok(true);
        }
        let buffers = module.named_buffers();
        if let Some((_, buffer)) = buffers.iter().find(|(name, _)| name == path) {
            let (old, new) = (buffer.value(), value.0);
            same_kind(path, &old, &new)?;
            buffer
                .set(crate::errors::guarded(|| new.to_device(old.device()))?.map_err(crate::errors::raised)?);
            return Ok(true);
        }
        Ok(false)
    }

    /// Trains from now on, or not.
    fn _set_training(&self, training: bool) {
        if training { self.layer.module().train() } else { self.layer.module().eval() }
    }

    /// Moves parameters and buffers to a device.
    fn _move(&self, py: Python<'_>, device: DeviceArg) -> PyResult<()> {
        let (parameters, buffers) =
            (self.layer.module().named_parameters(), self.layer.module().named_buffers());
        detached(py, || {
            for (_, parameter) in &parameters {
                parameter.move_to(&device.0)?;
            }
            for (_, buffer) in &buffers {
                buffer.move_to(&device.0)?;
            }
            Ok(())
        })
    }
}

fn same_kind(path: &str, old: &Tensor, new: &Tensor) -> PyResult<()> {
    if old.shape() == new.shape() && old.dtype() == new.dtype() {
        return Ok(());
    }
    let text = format!(
        "state: {path}: found {} {}, wanted {} {}",
        new.dtype(),
        new.shape(),
        old.dtype(),
        old.shape()
    );
    Err(crate::errors::Exception::Op.with(text))
}

/// The table of layers: name, arguments, what it is.
#[pyfunction]
pub fn layer_table() -> Vec<(&'static str, &'static str, &'static str)> {
    ROWS.iter().map(|row| (row.name, row.arguments, row.about)).collect()
}

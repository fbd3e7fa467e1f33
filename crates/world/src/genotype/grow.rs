//! Growth: from a genotype to the parts of a body, and from these to a world.
//!
//! Every part has a frame: its axes in the world, the first along its capsule. Below a mirrored edge frames are
//! left-handed, so everything that grows there is mirrored too. Invariant: a part comes after the part that
//! carries it.

use std::collections::VecDeque;

use super::{
    GeneEdge, GeneNetwork, GeneNode, Genotype, GenotypeError, MOST_CARRIED, MOST_PARTS, PART_AXES,
    PART_INPUTS,
};
use crate::description::{
    ContactRule, Description, FixedPlane, Integrator, Joint, JointAxis, JointKind, Motor, MotorKind,
    RigidBody, Sensor, Solid, SolidShape, VERSION,
};
use crate::geometry::Point3;

/// Seconds per step, and sub-steps of a step.
const TIME_STEP: f64 = 0.02;
const SUBSTEPS: usize = 4;
/// Passes of a sub-step.
const ITERATIONS: usize = 2;
/// Nm per radian of a motor of strength 1 at a radius of one meter; it grows with the area of the section.
const STIFFNESS: f64 = 6000.0;
/// Damping per stiffness, in seconds.
const DAMPING: f64 = 0.05;
/// The height of the lowest point at the start, in meters.
const CLEARANCE: f64 = 0.02;
/// A body's longest side and its mass.
const EXTENT: [f64; 2] = [0.2, 3.0];
const MASS: [f64; 2] = [0.5, 120.0];
/// The size that a part may have after scaling.
const PART_RADIUS: [f64; 2] = [0.02, 0.3];

/// A part of a body, in the world at the start.
#[derive(Clone, Debug, PartialEq)]
pub struct GrownPart {
    /// The index of its node.
    pub node: usize,
    /// The part that carries it.
    pub carrier: Option<usize>,
    /// Its center.
    pub center: [f64; 3],
    /// Its axes; the first is along the capsule.
    pub axes: [[f64; 3]; 3],
    /// −1 if it is mirrored, else 1.
    pub hand: f64,
    /// Half of the length between the centers of its ends.
    pub half_length: f64,
    /// Its radius.
    pub radius: f64,
    /// Where its joint is.
    pub anchor: [f64; 3],
    /// How far its clock is ahead, in beats.
    pub phase: f64,
}

/// What grew from a genotype.
#[derive(Clone, Debug, PartialEq)]
pub struct Grown {
    /// Its parts; the first has no joint.
    pub parts: Vec<GrownPart>,
    genotype: Genotype,
}

/// A part that is still to grow.
struct Bud<'a> {
    edge: &'a GeneEdge,
    carrier: usize,
    mirrored: bool,
    scale: f64,
    /// How often each node stands above it.
    above: Vec<usize>,
}

impl Genotype {
    /// The body that grows from it; an error says why a body is refused.
    pub fn grown(&self) -> Result<Grown, GenotypeError> {
        self.check()?;
        let root = self.node(&self.root).expect("checked");
        let node = &self.nodes[root];
        let mut above = vec![0; self.nodes.len()];
        above[root] = 1;
        let mut parts = vec![GrownPart {
            node: root,
            carrier: None,
            center: [0.0; 3],
            axes: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            hand: 1.0,
            half_length: node.length / 2.0,
            radius: node.radius,
            anchor: [0.0; 3],
            phase: 0.0,
        }];
        let mut buds = VecDeque::new();
        self.bud(root, 0, 1.0, &above, &mut buds);
        while let Some(bud) = buds.pop_front() {
            let to = self.node(&bud.edge.to).expect("checked");
            let part = carried(&parts[bud.carrier], &bud, to, &self.nodes[to]);
            parts.push(part);
            if parts.len() > MOST_PARTS {
                // Buds that wait are parts too, and they would carry more.
                return Err(GenotypeError::ManyParts { found: parts.len() + buds.len(), most: MOST_PARTS });
            }
            let mut above = bud.above.clone();
            above[to] += 1;
            self.bud(to, parts.len() - 1, bud.scale, &above, &mut buds);
        }
        let mut grown = Grown { parts, genotype: self.clone() };
        grown.check()?;
        grown.stand();
        Ok(grown)
    }

    /// The buds of a part.
    fn bud<'a>(
        &'a self,
        node: usize,
        carrier: usize,
        scale: f64,
        above: &[usize],
        buds: &mut VecDeque<Bud<'a>>,
    ) {
        let may_stand = |node: usize| above[node] <= self.nodes[node].repeats;
        for edge in self.edges.iter().filter(|edge| edge.from == self.nodes[node].name) {
            let to = self.node(&edge.to).expect("checked");
            // The last repetition is the one that cannot carry another of its kind.
            if !may_stand(to) || edge.last && may_stand(node) {
                continue;
            }
            for mirrored in [false, true] {
                if !mirrored || edge.mirror {
                    let (scale, above) = (scale * edge.scale, above.to_vec());
                    buds.push_back(Bud { edge, carrier, mirrored, scale, above });
                }
            }
        }
    }
}

/// The part that grows from a bud.
fn carried(carrier: &GrownPart, bud: &Bud<'_>, node_index: usize, node: &GeneNode) -> GrownPart {
    let edge = bud.edge;
    let frame = carrier.axes.map(Point3);
    let side = if bud.mirrored { -1.0 } else { 1.0 };
    let out = |[x, y, z]: [f64; 3]| frame[0].times(x).plus(frame[1].times(side * y)).plus(frame[2].times(z));
    let (sine, cosine) = edge.around.sin_cos();
    let (rise, flat) = edge.lean.sin_cos();
    // The direction of the new part, the direction around the carrier, and the third.
    let along = Point3([rise, flat * cosine, flat * sine]);
    let around = Point3([0.0, -sine, cosine]);
    let third = along.cross(around);
    let (s, c) = edge.twist.sin_cos();
    let (second, third) = (around.times(c).plus(third.times(s)), third.times(c).minus(around.times(s)));
    let axes = [along, second, third].map(|axis| out(axis.0));
    let start = [edge.along * carrier.half_length, 0.0, 0.0];
    let anchor = Point3(carrier.center).plus(out(start)).plus(axes[0].times(carrier.radius));
    let half_length = node.length / 2.0 * bud.scale;
    GrownPart {
        node: node_index,
        carrier: Some(bud.carrier),
        center: anchor.plus(axes[0].times(half_length)).0,
        axes: axes.map(|axis| axis.0),
        hand: carrier.hand * side,
        half_length,
        radius: (node.radius * bud.scale).clamp(PART_RADIUS[0], PART_RADIUS[1]),
        anchor: anchor.0,
        phase: carrier.phase + edge.phase + if bud.mirrored { edge.opposite } else { 0.0 },
    }
}

impl GrownPart {
    /// The axes of its joint, in the world. Mirrored, the same angle is the mirrored movement.
    fn hinges(&self) -> [[f64; 3]; PART_AXES] {
        [self.axes[1], self.axes[2]].map(|axis| axis.map(|v| v * self.hand))
    }

    /// The lowest and highest point along each axis of the world.
    fn reach(&self) -> [[f64; 2]; 3] {
        [0, 1, 2].map(|n| {
            let far = (self.axes[0][n] * self.half_length).abs() + self.radius;
            [self.center[n] - far, self.center[n] + far]
        })
    }

    /// A quaternion that brings the first two axes of the world to its own.
    fn rotation(&self) -> Vec<f64> {
        let [x, y] = [Point3(self.axes[0]), Point3(self.axes[1])];
        let z = x.cross(y);
        let m = |row: usize, column: usize| [x, y, z][column].0[row];
        let trace = m(0, 0) + m(1, 1) + m(2, 2);
        let part = |a: usize, b: usize, c: usize| {
            let size = (1.0 + m(a, a) - m(b, b) - m(c, c)).sqrt() * 2.0;
            let mut q = [0.0; 4];
            q[0] = (m(c, b) - m(b, c)) / size;
            q[1 + a] = size / 4.0;
            q[1 + b] = (m(a, b) + m(b, a)) / size;
            q[1 + c] = (m(a, c) + m(c, a)) / size;
            q
        };
        let q = if trace > 0.0 {
            let size = (trace + 1.0).sqrt() * 2.0;
            [size / 4.0, (m(2, 1) - m(1, 2)) / size, (m(0, 2) - m(2, 0)) / size, (m(1, 0) - m(0, 1)) / size]
        } else if m(0, 0) >= m(1, 1) && m(0, 0) >= m(2, 2) {
            part(0, 1, 2)
        } else if m(1, 1) >= m(2, 2) {
            part(1, 2, 0)
        } else {
            part(2, 0, 1)
        };
        q.to_vec()
    }
}

impl Grown {
    /// The name of a part's body.
    pub fn name(&self, part: usize) -> String {
        format!("{}_{part}", self.genotype.nodes[self.parts[part].node].name)
    }

    /// The network that drives a part's joint.
    pub fn network(&self, part: usize) -> &GeneNetwork {
        &self.gene(part).network
    }

    /// The node of a part.
    pub(crate) fn gene(&self, part: usize) -> &GeneNode {
        &self.genotype.nodes[self.parts[part].node]
    }

    /// Beats of its clock per second.
    pub fn clock(&self) -> f64 {
        self.genotype.clock
    }

    /// The mass in kilograms.
    pub fn mass(&self) -> f64 {
        (0..self.parts.len()).map(|n| self.part_mass(n)).sum()
    }

    /// The mass of a part; 0 if there is no such part.
    pub(crate) fn part_mass(&self, n: usize) -> f64 {
        let Some(GrownPart { radius: r, half_length, .. }) = self.parts.get(n) else { return 0.0 };
        let volume = std::f64::consts::PI * r * r * (2.0 * half_length + 4.0 / 3.0 * r);
        volume * self.gene(n).density
    }

    /// The lowest and highest point along each axis of the world.
    fn reach(&self) -> [[f64; 2]; 3] {
        let both = |a: [f64; 2], b: [f64; 2]| [a[0].min(b[0]), a[1].max(b[1])];
        let all = self.parts.iter().map(GrownPart::reach);
        all.reduce(|a, b| [0, 1, 2].map(|n| both(a[n], b[n]))).expect("there is a part")
    }

    /// The longest side, in meters.
    pub fn extent(&self) -> f64 {
        self.reach().iter().map(|[low, high]| high - low).fold(0.0, f64::max)
    }

    fn check(&self) -> Result<(), GenotypeError> {
        if self.parts.len() < 2 {
            return Err(GenotypeError::NoJoint);
        }
        for part in 0..self.parts.len() {
            let found = self.parts.iter().filter(|other| other.carrier == Some(part)).count();
            if found > MOST_CARRIED {
                return Err(GenotypeError::ManyCarried { part, found, most: MOST_CARRIED });
            }
        }
        let measures =
            [("its longest side", self.extent(), EXTENT, "m"), ("its mass", self.mass(), MASS, "kg")];
        for (what, found, [least, most], unit) in measures {
            if !(least..=most).contains(&found) {
                let found = (found * 1000.0).round() / 1000.0;
                return Err(GenotypeError::Measure { what, found, least, most, unit });
            }
        }
        Ok(())
    }

    /// Lifts the body until it stands just above the ground.
    fn stand(&mut self) {
        let up = CLEARANCE - self.reach()[2][0];
        for part in &mut self.parts {
            part.center[2] += up;
            part.anchor[2] += up;
        }
    }

    /// The world of this body alone on flat ground, with motors and sensors.
    ///
    /// ```
    /// use farad_world::{Genotype, World};
    /// let grown = Genotype::random(3).grown()?;
    /// let world = World::new(&grown.description(), &farad_tensor::Device::cpu()).expect("bodies that grow are whole");
    /// assert_eq!(world.bodies(), grown.parts.len());
    /// # Ok::<(), farad_world::GenotypeError>(())
    /// ```
    pub fn description(&self) -> Description {
        let parts = 0..self.parts.len();
        let joints: Vec<Joint> = parts.clone().skip(1).map(|n| self.joint(n)).collect();
        Description {
            version: VERSION,
            name: self.genotype.name.clone(),
            dimensions: 3,
            gravity: None,
            time_step: TIME_STEP,
            substeps: SUBSTEPS,
            iterations: ITERATIONS,
            integrator: Integrator::SemiImplicit,
            contact: ContactRule::default(),
            planes: vec![FixedPlane { normal: None, offset: 0.0, friction: 1.0, restitution: 0.0 }],
            bodies: parts.clone().map(|n| self.body(n)).collect(),
            motors: parts.clone().skip(1).flat_map(|n| self.motors(n)).collect(),
            sensors: self.sensors(&joints),
            joints,
            collisions: Default::default(),
            start: Default::default(),
        }
    }

    fn body(&self, n: usize) -> RigidBody {
        let part = &self.parts[n];
        RigidBody {
            name: self.name(n),
            position: part.center.to_vec(),
            rotation: part.rotation(),
            velocity: vec![],
            spin: vec![],
            solids: vec![Solid {
                shape: SolidShape::Capsule,
                radius: part.radius,
                half_length: part.half_length,
                half: vec![],
                position: vec![],
                rotation: vec![],
                density: self.gene(n).density,
                mass: None,
                friction: 1.0,
                restitution: 0.0,
                planes: true,
                bodies: true,
            }],
            drag: None,
            color: Some(COLORS[part.node % COLORS.len()]),
        }
    }

    fn joint(&self, n: usize) -> Joint {
        let (part, gene) = (&self.parts[n], &self.gene(n).joint);
        let axis = |axis: &[f64; 3]| JointAxis {
            axis: axis.to_vec(),
            limits: Some([-gene.swing, gene.swing]),
            limit_stiffness: self.stiffness(n).max(1.0),
            stiffness: 0.0,
            damping: 0.0,
            rest: 0.0,
            armature: 0.0,
        };
        Joint {
            name: format!("joint_{n}"),
            kind: JointKind::Hinge,
            parent: part.carrier.map(|carrier| self.name(carrier)),
            child: self.name(n),
            anchor: part.anchor.to_vec(),
            parent_anchor: vec![],
            axes: part.hinges()[..gene.axes].iter().map(axis).collect(),
            compliance: 0.0,
            stiffness: 0.0,
            damping: 0.0,
            length: None,
        }
    }

    /// Nm per radian of a part's motors.
    fn stiffness(&self, n: usize) -> f64 {
        STIFFNESS * self.gene(n).joint.strength * self.parts[n].radius.powi(2)
    }

    fn motors(&self, n: usize) -> Vec<Motor> {
        let gene = &self.gene(n).joint;
        let motor = |axis: usize| Motor {
            name: format!("motor_{n}_{axis}"),
            joint: format!("joint_{n}"),
            axis,
            kind: MotorKind::Position,
            gear: 1.0,
            range: [-gene.swing, gene.swing],
            // A motor without any strength is not a motor.
            stiffness: self.stiffness(n).max(1e-3),
            damping: (self.stiffness(n) * DAMPING).max(1e-3),
        };
        (0..gene.axes).map(motor).collect()
    }

    fn sensors(&self, joints: &[Joint]) -> Vec<Sensor> {
        let root = self.name(0);
        let of_body = |kind: &str, body: &str, scale: f64| Sensor {
            kind: kind.into(),
            body: Some(body.into()),
            joint: None,
            axis: 0,
            scale,
        };
        let of_joint = |kind: &str, joint: &Joint, axis: usize, scale: f64| Sensor {
            kind: kind.into(),
            body: None,
            joint: Some(joint.name.clone()),
            axis,
            scale,
        };
        let mut sensors = vec![
            of_body("height", &root, 1.0),
            of_body("rotation", &root, 1.0),
            of_body("velocity", &root, 1.0),
            of_body("spin", &root, 0.2),
        ];
        for joint in joints {
            for axis in 0..joint.axes.len() {
                sensors.push(of_joint("joint_angle", joint, axis, 1.0));
                sensors.push(of_joint("joint_velocity", joint, axis, 0.1));
            }
        }
        sensors.extend((0..self.parts.len()).map(|n| of_body("contact", &self.name(n), 1.0)));
        sensors
    }

    /// The weights of a part's network, one list: neurons first.
    pub(crate) fn weights(&self, part: usize) -> impl Iterator<Item = f64> + '_ {
        let network = self.network(part);
        debug_assert_eq!(network.neurons[0].len(), PART_INPUTS.len());
        network.neurons.iter().chain(&network.outputs).flatten().copied()
    }
}

/// The colors of nodes in films.
const COLORS: [[u8; 3]; 8] = [
    [46, 110, 190],
    [214, 93, 52],
    [60, 150, 90],
    [150, 90, 170],
    [200, 160, 40],
    [60, 160, 170],
    [190, 80, 110],
    [120, 120, 120],
];

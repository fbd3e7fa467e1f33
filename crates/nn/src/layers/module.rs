//! What all modules have in common: parts that can be visited by name, and what follows from that.
//!
//! Invariant: a module visits the same parts under the same names in the same order every time. Start at
//! [`Module::visit`]; `#[derive(Module)]` writes it.

use super::summary::Summary;
use super::{Buffer, Mode, Parameter};
use crate::error::Result;
use farad_tensor::Device;
use farad_tensor::Tensor;

/// Something with named parts: parameters, buffers, and modules that have such parts themselves.
///
/// `#[derive(Module)]` visits every field under its name, so that paths are those of PyTorch: `features.0.weight`.
/// Fields may be [`Parameter`], [`Buffer`], [`Mode`], other modules, `Option`, `Vec`, `Box`, arrays and tuples of
/// these; numbers, `bool` and `String` are no parts. Fields of other types need `#[module(skip)]`;
/// `#[module(flatten)]` leaves a field's own name out of the paths.
///
/// ```
/// use farad::prelude::*;
///
/// #[derive(Module)]
/// struct Block {
///     layers: Vec<Linear>,
///     scale: Parameter,
///     width: usize,
///     #[module(skip)]
///     started: std::time::Instant,
/// }
///
/// let layers = vec![Linear::new(4, 4), Linear::new(4, 4).without_bias()];
/// let scale = Parameter::new(Tensor::ones([4], &Device::cpu()));
/// let block = Block { layers, scale, width: 4, started: std::time::Instant::now() };
/// let names: Vec<String> = block.named_parameters().into_iter().map(|(name, _)| name).collect();
/// assert_eq!(names, ["layers.0.weight", "layers.0.bias", "layers.1.weight", "scale"]);
/// ```
///
/// A tensor that is no cell would be neither saved nor moved, so it is refused:
///
/// ```compile_fail,E0277
/// use farad::prelude::*;
///
/// #[derive(Module)]
/// struct Forgetful {
///     mean: Tensor,
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no part of a module",
    label = "neither visited nor skipped",
    note = "tensors live in a `Parameter` (trained) or a `Buffer` (kept, not trained)",
    note = "`#[module(skip)]` leaves a field out"
)]
pub trait Module {
    /// Shows every part to the visitor, in a fixed order.
    fn visit(&self, visitor: &mut dyn Visitor);

    /// What it is, for [`Module::summary`]: the type's name without its path. Empty for what has no
    /// row there.
    fn kind(&self) -> String {
        short_name(std::any::type_name::<Self>())
    }

    /// The parameters that are trained, in a fixed order: all that are not frozen.
    fn parameters(&self) -> Vec<Parameter> {
        let all = self.named_parameters().into_iter().map(|(_, parameter)| parameter);
        all.filter(|parameter| !parameter.is_frozen()).collect()
    }

    /// All parameters with their paths, frozen ones too.
    fn named_parameters(&self) -> Vec<(String, Parameter)> {
        let mut all = Vec::new();
        self.visit(&mut Cells::new(|path, cell| {
            if let LeafCell::Parameter(parameter) = cell {
                all.push((path.to_string(), parameter.clone()));
            }
        }));
        all
    }

    /// All buffers with their paths.
    fn named_buffers(&self) -> Vec<(String, Buffer)> {
        let mut all = Vec::new();
        self.visit(&mut Cells::new(|path, cell| {
            if let LeafCell::Buffer(buffer) = cell {
                all.push((path.to_string(), buffer.clone()));
            }
        }));
        all
    }

    /// The current tensors of all parameters and buffers with their paths: what is saved.
    fn state(&self) -> Vec<(String, Tensor)> {
        let mut all = Vec::new();
        self.visit(&mut Cells::new(|path, cell| match cell {
            LeafCell::Parameter(parameter) => all.push((path.to_string(), parameter.value())),
            LeafCell::Buffer(buffer) => all.push((path.to_string(), buffer.value())),
            LeafCell::Mode(_) => {}
        }));
        all
    }

    /// Layers that differ in training and in use (dropout, batch norm) train from now on. So they
    /// begin.
    fn train(&self) {
        set_mode(self, true);
    }

    /// Layers that differ in training and in use are in use from now on.
    fn eval(&self) {
        set_mode(self, false);
    }

    /// Whether all its layers train; see [`Module::train`].
    fn is_training(&self) -> bool {
        let mut training = true;
        self.visit(&mut Cells::new(|_, cell| {
            if let LeafCell::Mode(mode) = cell {
                training &= mode.is_training();
            }
        }));
        training
    }

    /// Takes all parameters out of training: [`Module::parameters`] leaves them out. An optimizer that
    /// already has them goes on.
    fn freeze(&self) {
        self.named_parameters().iter().for_each(|(_, parameter)| parameter.freeze());
    }

    /// Takes all parameters back into training.
    fn unfreeze(&self) {
        self.named_parameters().iter().for_each(|(_, parameter)| parameter.unfreeze());
    }

    /// The same module with its parameters and buffers on a device. Panics if the device has no room; see
    /// [`Module::try_to_device`].
    #[track_caller]
    fn to_device(self, device: &Device) -> Self
    where
        Self: Sized,
    {
        match self.try_to_device(device) {
            Ok(module) => module,
            Err(error) => panic!("{error}"),
        }
    }

    /// As [`Module::to_device`], with an error if the device has no room.
    fn try_to_device(self, device: &Device) -> Result<Self>
    where
        Self: Sized,
    {
        for (_, parameter) in self.named_parameters() {
            parameter.move_to(device)?;
        }
        for (_, buffer) in self.named_buffers() {
            buffer.move_to(device)?;
        }
        Ok(self)
    }

    /// Its parts as a table that can be printed.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let summary = Sequential::new((Linear::new(784, 128), Relu, Linear::new(128, 10))).summary();
    /// assert_eq!(summary.parameters, 784 * 128 + 128 + 128 * 10 + 10);
    /// println!("{summary}");
    /// ```
    fn summary(&self) -> Summary {
        Summary::of(self)
    }
}

/// What turns one tensor into one tensor: a layer, or a network of layers. [`Sequential`](super::Sequential)
/// is made of these. Modules with other inputs have a `forward` of their own.
pub trait Layer: Module {
    /// The layer applied to a tensor.
    fn forward(&self, x: &Tensor) -> Tensor;
}

/// Who is shown a module's parts. A module calls [`Visitor::child`] for everything it consists of; the cells call
/// the others.
pub trait Visitor {
    /// A part with a name. The visitor visits it, by [`Module::visit`], if it wants to.
    fn child(&mut self, name: &str, part: &dyn Module);
    /// The part is a parameter.
    fn parameter(&mut self, parameter: &Parameter);
    /// The part is a buffer.
    fn buffer(&mut self, buffer: &Buffer);
    /// The part says whether the module trains.
    fn mode(&mut self, mode: &Mode);
}

/// A part that consists of no others.
pub(super) enum LeafCell<'a> {
    Parameter(&'a Parameter),
    Buffer(&'a Buffer),
    Mode(&'a Mode),
}

/// Calls a function with the path of every cell.
pub(super) struct Cells<F> {
    path: String,
    found: F,
}

impl<F: FnMut(&str, LeafCell)> Cells<F> {
    pub fn new(found: F) -> Cells<F> {
        Cells { path: String::new(), found }
    }
}

impl<F: FnMut(&str, LeafCell)> Visitor for Cells<F> {
    fn child(&mut self, name: &str, part: &dyn Module) {
        let before = self.path.len();
        if before > 0 {
            self.path.push('.');
        }
        self.path.push_str(name);
        part.visit(self);
        self.path.truncate(before);
    }

    fn parameter(&mut self, parameter: &Parameter) {
        (self.found)(&self.path, LeafCell::Parameter(parameter));
    }

    fn buffer(&mut self, buffer: &Buffer) {
        (self.found)(&self.path, LeafCell::Buffer(buffer));
    }

    fn mode(&mut self, mode: &Mode) {
        (self.found)(&self.path, LeafCell::Mode(mode));
    }
}

fn set_mode(module: &(impl Module + ?Sized), training: bool) {
    module.visit(&mut Cells::new(|_, cell| {
        if let LeafCell::Mode(mode) = cell {
            mode.set(training);
        }
    }));
}

/// `a::b::Pair<a::c::Left, Right>` as `Pair<Left, Right>`.
fn short_name(name: &str) -> String {
    let mut short = String::new();
    let mut rest = name;
    while let Some(end) = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')) {
        short.push_str(last_segment(&rest[..end]));
        let next = end + rest[end..].chars().next().map_or(0, char::len_utf8);
        short.push_str(&rest[end..next]);
        rest = &rest[next..];
    }
    short.push_str(last_segment(rest));
    short
}

fn last_segment(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_names_without_paths() {
        assert_eq!(short_name("farad::nn::linear::Linear"), "Linear");
        assert_eq!(short_name("a::Pair<b::c::Left, alloc::vec::Vec<d::Right>>"), "Pair<Left, Vec<Right>>");
    }
}

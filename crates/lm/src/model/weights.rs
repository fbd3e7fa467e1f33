//! Weights from GPT-2's files, and what they say about the model that they are of.

use farad::{DType, StateDict, Tensor};

use super::{Activation, ModelOptions, Positions, Transformer};
use crate::error::{Error, Result};

/// Buffers that some files have and no model needs: masks of causal attention.
const MASKS: [&str; 2] = ["h.*.attn.bias", "h.*.attn.masked_bias"];

/// What files put before all names but the head's.
const PREFIX: &str = "transformer.";

impl Transformer {
    /// Loads weights under GPT-2's names, with or without the prefix `transformer.`. Masks in the file are ignored, and
    /// so is a head that repeats the token embedding. Everything else must be there and fit; if not, nothing changes.
    ///
    /// ```
    /// use farad::StateDict;
    /// use farad_lm::{ModelOptions, Transformer};
    /// let options = ModelOptions { layers: 1, heads: 2, width: 8, context: 8, vocabulary: 10, ..Default::default() };
    /// let (old, new) = (Transformer::new(&options)?, Transformer::new(&options)?);
    /// new.load(StateDict::of(&old).add_prefix("transformer.")?)?;
    /// # Ok::<(), farad_lm::Error>(())
    /// ```
    pub fn load(&self, weights: StateDict) -> Result<()> {
        let mut weights = plain(weights)?;
        if self.options().tied
            && let (Some(head), Some(table)) = (weights.get("lm_head.weight"), weights.get("wte.weight"))
        {
            if !same(head, table)? {
                return Err(Error::Untied);
            }
            weights = weights.ignore("lm_head.weight");
        }
        Ok(weights.load_exactly(self)?)
    }

    /// A model of the sizes that the weights have, with them. They do not say how many heads there are; GPT-2's have
    /// 64 columns each, which is taken if it is not given.
    pub fn from_weights(weights: StateDict, heads: Option<usize>) -> Result<Transformer> {
        let weights = plain(weights)?;
        let model = Transformer::new(&sizes(&weights, heads)?)?;
        model.load(weights)?;
        Ok(model)
    }
}

/// Under the names of this crate.
fn plain(weights: StateDict) -> Result<StateDict> {
    let weights = weights.strip_prefix(PREFIX)?;
    Ok(MASKS.iter().fold(weights, |weights, mask| weights.ignore(mask)))
}

fn same(a: &Tensor, b: &Tensor) -> Result<bool> {
    // Some files have dtypes that are stored but not computed with.
    let [x, y] = [a, b].map(|t| t.cast(DType::F32));
    Ok(a.shape() == b.shape() && x.equal(&y).all().to_vec::<bool>()? == [true])
}

fn sizes(weights: &StateDict, heads: Option<usize>) -> Result<ModelOptions> {
    let size = |name: &str, axis: usize| match weights.get(name) {
        Some(tensor) if tensor.rank() == 2 => Ok(tensor.shape()[axis]),
        Some(tensor) => Err(Error::Weights { what: format!("{name} is no matrix: {}", tensor.shape()) }),
        None => Err(Error::Weights { what: format!("there is no {name}") }),
    };
    let (vocabulary, width) = (size("wte.weight", 0)?, size("wte.weight", 1)?);
    let layers = (0..).take_while(|n| weights.get(&format!("h.{n}.attn.c_attn.weight")).is_some()).count();
    let (first, feed_forward) = (size("h.0.mlp.c_fc.weight", 1)?, size("h.0.mlp.c_proj.weight", 0)?);
    let defaults = ModelOptions::default();
    let learned = weights.get("wpe.weight").is_some();
    let tied = match (weights.get("lm_head.weight"), weights.get("wte.weight")) {
        (Some(head), Some(table)) => same(head, table)?,
        _ => true,
    };
    let options = ModelOptions {
        layers,
        heads: heads.unwrap_or((width / 64).max(1)),
        width,
        context: if learned { size("wpe.weight", 0)? } else { defaults.context },
        vocabulary,
        feed_forward,
        activation: if first == 2 * feed_forward { Activation::Swiglu } else { Activation::GeluTanh },
        positions: if learned { Positions::Learned } else { Positions::Rotary },
        tied,
        bias: weights.get("h.0.attn.c_attn.bias").is_some(),
        ..defaults
    };
    options.check()?;
    Ok(options)
}

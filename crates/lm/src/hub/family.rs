//! The families of models, one row each, and what their files call the parts of a model.

use crate::model::{AttentionBias, ModelOptions};

/// A family of models: what `model_type` of a `config.json` names.
pub struct ModelFamily {
    /// What `config.json` calls it.
    pub name: &'static str,
    /// What files call the parts.
    pub(super) layout: &'static WeightLayout,
    /// Which products of attention add a bias.
    pub(super) bias: BiasRule,
    /// Which layers have a sliding window.
    pub(super) window: WindowRule,
}

/// Where it stands which products of attention add a bias.
pub(super) enum BiasRule {
    /// In `attention_bias`: all or none.
    Asked,
    /// Always the same.
    Always(AttentionBias),
}

/// Where it stands which layers have a window.
#[derive(PartialEq, Eq)]
pub(super) enum WindowRule {
    /// No layer has.
    Never,
    /// All have, if `sliding_window` is a number.
    Given,
    /// Those from `max_window_layers` on, if `use_sliding_window` is true.
    Asked,
}

/// What files call the parts of a model.
pub(super) struct WeightLayout {
    /// Before all names but the head's; some files leave it out.
    pub prefix: &'static str,
    /// Before the number of a layer.
    pub layer: &'static str,
    /// Products lie as `[outputs, inputs]`.
    pub transposed: bool,
    /// Parts outside of the layers: the name here and there.
    pub outside: &'static [(&'static str, &'static str)],
    /// Parts of a layer: the name here and the names there, side by side.
    pub inside: &'static [(&'static str, &'static [&'static str])],
    /// Tensors that no model needs, as the ends of their names.
    pub ignored: &'static [&'static str],
}

static GPT2: WeightLayout = WeightLayout {
    prefix: "transformer.",
    layer: "h.",
    transposed: false,
    outside: &[("wte", "wte"), ("wpe", "wpe"), ("ln_f", "ln_f")],
    inside: &[
        ("ln_1", &["ln_1"]),
        ("attn.c_attn", &["attn.c_attn"]),
        ("attn.c_proj", &["attn.c_proj"]),
        ("ln_2", &["ln_2"]),
        ("mlp.c_fc", &["mlp.c_fc"]),
        ("mlp.c_proj", &["mlp.c_proj"]),
    ],
    ignored: &[".attn.bias", ".attn.masked_bias"],
};

static LLAMA: WeightLayout = WeightLayout {
    prefix: "model.",
    layer: "layers.",
    transposed: true,
    outside: &[("wte", "embed_tokens"), ("ln_f", "norm")],
    inside: &[
        ("ln_1", &["input_layernorm"]),
        ("attn.c_attn", &["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"]),
        ("attn.c_proj", &["self_attn.o_proj"]),
        ("ln_2", &["post_attention_layernorm"]),
        ("mlp.c_fc", &["mlp.gate_proj", "mlp.up_proj"]),
        ("mlp.c_proj", &["mlp.down_proj"]),
    ],
    ignored: &[".rotary_emb.inv_freq"],
};

/// All of them.
#[rustfmt::skip]
pub static FAMILIES: [ModelFamily; 4] = [
    ModelFamily { name: "gpt2", layout: &GPT2, bias: BiasRule::Always(AttentionBias::None), window: WindowRule::Never },
    ModelFamily { name: "llama", layout: &LLAMA, bias: BiasRule::Asked, window: WindowRule::Never },
    ModelFamily { name: "qwen2", layout: &LLAMA, bias: BiasRule::Always(AttentionBias::Inputs), window: WindowRule::Asked },
    ModelFamily { name: "mistral", layout: &LLAMA, bias: BiasRule::Always(AttentionBias::None), window: WindowRule::Given },
];

impl ModelFamily {
    /// By what `config.json` calls it.
    pub fn named(name: &str) -> Option<&'static ModelFamily> {
        FAMILIES.iter().find(|family| family.name == name)
    }

    /// Whether it is made as GPT-2 is.
    pub(super) fn is_gpt2(&self) -> bool {
        std::ptr::eq(self.layout, &GPT2)
    }
}

/// Where a weight of this crate is in a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct StoredParts {
    /// The names of its parts without the family's prefix, side by side along the outputs.
    pub names: Vec<String>,
    /// Whether it is a product that lies the other way round there.
    pub transposed: bool,
}

impl WeightLayout {
    /// Where a parameter of this crate is, by its path here: `h.0.attn.c_attn.weight`.
    pub fn stored(&self, path: &str) -> Option<StoredParts> {
        let (module, leaf) = path.rsplit_once('.')?;
        if module == "lm_head" {
            return Some(StoredParts { names: vec![path.into()], transposed: false });
        }
        if let Some((_, name)) = self.outside.iter().find(|(own, _)| *own == module) {
            return Some(StoredParts { names: vec![format!("{name}.{leaf}")], transposed: false });
        }
        let (layer, module) = module.strip_prefix("h.")?.split_once('.')?;
        let (_, parts) = self.inside.iter().find(|(own, _)| *own == module)?;
        let name = |part: &&str| format!("{}{layer}.{part}.{leaf}", self.layer);
        let product = leaf == "weight" && !module.starts_with("ln_");
        Some(StoredParts { names: parts.iter().map(name).collect(), transposed: product && self.transposed })
    }

    /// A name as files have it.
    pub fn full_name(&self, name: &str) -> String {
        match name.starts_with("lm_head.") {
            true => name.into(),
            false => format!("{}{name}", self.prefix),
        }
    }
}

/// How many outputs each part of a product has that is one here and several there.
pub(super) fn part_sizes(options: &ModelOptions, path: &str, parts: usize) -> Option<Vec<usize>> {
    match parts {
        3 => Some(options.attention_parts().to_vec()),
        2 if path.contains("mlp.c_fc") => Some(vec![options.hidden(); 2]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found_by_their_paths() {
        let of = |family: &str, path: &str| ModelFamily::named(family).expect("a row").layout.stored(path);
        let parts = of("llama", "h.7.attn.c_attn.weight").expect("a part");
        let wanted = ["q", "k", "v"].map(|part| format!("layers.7.self_attn.{part}_proj.weight"));
        assert_eq!(parts, StoredParts { names: wanted.into(), transposed: true });
        assert!(!of("llama", "h.7.attn.c_attn.bias").expect("a part").transposed);
        assert!(!of("gpt2", "h.7.attn.c_attn.weight").expect("a part").transposed);
        assert_eq!(of("mistral", "ln_f.weight").expect("a part").names, ["norm.weight"]);
        assert_eq!(of("gpt2", "h.0.attn.rotary.weight"), None);
        assert_eq!(GPT2.full_name("wte.weight"), "transformer.wte.weight");
        assert_eq!(LLAMA.full_name("lm_head.weight"), "lm_head.weight");
    }
}

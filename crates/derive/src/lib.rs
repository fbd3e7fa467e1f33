//! `#[derive(Module)]`: a struct's fields become the parts of a module, by name.
//!
//! Invariant: the generated code names only `::farad::nn`, and visits fields in the order in which they are
//! written. Start at [`derive_module`].

use proc_macro::TokenStream;
use proc_macro2::{Ident, TokenStream as Tokens, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Field, Fields, Generics, Result, parse_macro_input, parse_quote};

/// Implements `farad::nn::Module` by visiting every field under its name (fields of tuple structs under their
/// number). `#[module(skip)]` leaves a field out, which fields that are no modules need;
/// `#[module(flatten)]` visits a field's own parts without its name.
#[proc_macro_derive(Module, attributes(module))]
pub fn derive_module(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand(input).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// What an attribute says about a field.
#[derive(Clone, Copy, PartialEq)]
enum FieldRole {
    Child,
    Skip,
    Flatten,
}

fn expand(mut input: DeriveInput) -> Result<Tokens> {
    let mut visited = Vec::new();
    let arms = match &input.data {
        Data::Struct(data) => vec![arm(quote!(Self), &data.fields, &mut visited)?],
        Data::Enum(data) => {
            let arm_of = |variant: &syn::Variant, visited: &mut Vec<Tokens>| {
                let name = &variant.ident;
                arm(quote!(Self::#name), &variant.fields, visited)
            };
            data.variants.iter().map(|variant| arm_of(variant, &mut visited)).collect::<Result<_>>()?
        }
        Data::Union(_) => {
            return Err(syn::Error::new(input.ident.span(), "module: a union has no fields to visit"));
        }
    };
    bound(&mut input.generics, &visited);
    let name = &input.ident;
    let (implemented, types, conditions) = input.generics.split_for_impl();
    // An enum without variants cannot be matched through a reference.
    let body = match arms.is_empty() {
        true => quote!(match *self {}),
        false => quote!(match self { #(#arms)* }),
    };
    Ok(quote! {
        #[automatically_derived]
        impl #implemented ::farad::nn::Module for #name #types #conditions {
            fn visit(&self, visitor: &mut dyn ::farad::nn::Visitor) {
                #body
            }
        }
    })
}

/// `Self::Variant { first: _0, .. } => { visits }`; the types of visited fields are added to `visited`.
fn arm(path: Tokens, fields: &Fields, visited: &mut Vec<Tokens>) -> Result<Tokens> {
    let (mut patterns, mut visits) = (Vec::new(), Vec::new());
    for (number, field) in fields.iter().enumerate() {
        let role = role(field)?;
        if role == FieldRole::Skip {
            continue;
        }
        visited.push(field.ty.to_token_stream());
        let bound = format_ident!("_{number}");
        let (member, name) = match &field.ident {
            Some(ident) => (ident.to_token_stream(), ident.to_string().trim_start_matches("r#").to_string()),
            None => (syn::Index::from(number).to_token_stream(), number.to_string()),
        };
        patterns.push(quote!(#member: #bound));
        // The field's span, so that an error about its type points at it.
        visits.push(match role {
            FieldRole::Flatten => {
                quote_spanned!(field.ty.span()=> ::farad::nn::Module::visit(#bound, visitor);)
            }
            _ => quote_spanned!(field.ty.span()=> visitor.child(#name, #bound);),
        });
    }
    let unused = visits.is_empty().then(|| quote!(let _ = visitor;));
    Ok(quote!(#path { #(#patterns,)* .. } => { #unused #(#visits)* }))
}

fn role(field: &Field) -> Result<FieldRole> {
    let mut role = FieldRole::Child;
    for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("module")) {
        attribute.parse_nested_meta(|meta| {
            role = match () {
                () if meta.path.is_ident("skip") => FieldRole::Skip,
                () if meta.path.is_ident("flatten") => FieldRole::Flatten,
                () => return Err(meta.error("module: unknown option\nhelp: there are skip and flatten")),
            };
            Ok(())
        })?;
    }
    Ok(role)
}

/// Type parameters that visited fields mention have to be modules.
fn bound(generics: &mut Generics, visited: &[Tokens]) {
    for parameter in generics.type_params_mut() {
        if visited.iter().any(|ty| mentions(ty.clone(), &parameter.ident)) {
            parameter.bounds.push(parse_quote!(::farad::nn::Module));
        }
    }
}

fn mentions(tokens: Tokens, name: &Ident) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Group(group) => mentions(group.stream(), name),
        TokenTree::Ident(ident) => ident == *name,
        _ => false,
    })
}

//! Names that are valid in other languages.
//!
//! A name from [`Names`] is an identifier in the languages of all formats, is not a keyword of any of them,
//! does not look like a wire (`w12`), and is given only once.

use std::collections::HashSet;

use crate::netlist::Netlist;

/// Reserved words of Verilog, C, Rust or WGSL; compared in lower case.
const KEYWORDS: &str = "
    abstract alias always always_comb always_ff always_latch and array as asm assert assign assume async atomic auto
    automatic await become before begin bind bins binsof bit bitcast bool box break buf bufif0 bufif1 byte case casex
    casez cell chandle char checker class clocking cmos complex config const const_assert constexpr constraint context
    continue continuing cover covergroup coverpoint crate cross deassign default defparam design diagnostic disable
    discard dist do double dyn edge else enable end endcase endchecker endclass endclocking endconfig endfunction
    endgenerate endgroup endinterface endmodule endpackage endprimitive endprogram endproperty endsequence endspecify
    endtable endtask enum event eventually expect export extends extern f16 f32 f64 fallthrough false final
    first_match float fn for force foreach forever fork forkjoin fragment function gen generate genvar global goto
    highz0 highz1 i16 i32 i64 i8 if iff ifnone ignore_bins illegal_bins impl implements import imaginary in incdir
    include initial inline inout input inside instance int integer interconnect interface intersect isize join
    join_any join_none large let liblist library local localparam logic long loop macro main mat2x2 mat3x3 mat4x4 match
    matches medium mod modport module move mut namespace nand negedge nettype new nexttime nmos nor noreturn
    noshowcancelled not notif0 notif1 null nullptr of or output override package packed parameter pmos posedge
    primitive priority private program property protected ptr pub public pull0 pull1 pulldown pullup
    pulsestyle_ondetect pulsestyle_onevent pure rand randc randcase randsequence rcmos real realtime ref reg register
    reject_on release repeat requires restrict return rnmos rpmos rtran rtranif0 rtranif1 s_always s_eventually
    s_nexttime s_until s_until_with sampler scalared self sequence short shortint shortreal showcancelled signed
    sizeof small soft solve specify specparam static storage string strong strong0 strong1 struct super supply0
    supply1 switch sync_accept_on sync_reject_on table tagged target task texture this throughout time timeprecision
    timeunit trait tran tranif0 tranif1 tri tri0 tri1 triand trior trireg true try type type_id typedef typeof typename
    u16 u32 u64 u8 undef uniform union unique unique0 unsafe unsigned unsized until until_with untyped use usize using
    uwire var vec2 vec3 vec4 vectored vertex virtual void volatile wait wait_order wand weak weak0 weak1 where while
    wildcard wire with within wor workgroup writeonly xnor xor yield";

/// Gives out names, each once.
pub(super) struct Names {
    keywords: HashSet<&'static str>,
    taken: HashSet<String>,
}

impl Names {
    /// With these names taken from the start.
    pub(super) fn new(taken: &[&str]) -> Names {
        let taken = taken.iter().map(|name| name.to_string()).collect();
        Names { keywords: KEYWORDS.split_whitespace().collect(), taken }
    }

    /// An identifier as close to the name as possible.
    pub(super) fn pick(&mut self, name: &str) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let mut made: String = name.chars().map(plain).collect();
        if !made.starts_with(|c: char| c.is_ascii_alphabetic()) {
            made.insert_str(0, if made.is_empty() { "unnamed" } else { "n" });
        }
        if self.keywords.contains(made.to_ascii_lowercase().as_str()) || is_generated(&made) {
            made.push('_');
        }
        if self.taken.contains(&made) {
            let number = (2..).find(|number| !self.taken.contains(&format!("{made}_{number}")));
            made = format!("{made}_{}", number.expect("one of all numbers"));
        }
        self.taken.insert(made.clone());
        made
    }
}

/// A port of a module: a wire, or a vector of this many.
pub(super) struct HardwarePort {
    pub name: String,
    pub width: Option<usize>,
}

impl HardwarePort {
    /// Its bits as they are read: `x[0]`, `x[1]`, …, or the name.
    fn bits(&self) -> Vec<String> {
        match self.width {
            Some(width) => (0..width).map(|n| format!("{}[{n}]", self.name)).collect(),
            None => vec![self.name.clone()],
        }
    }

    /// Its declaration in Verilog: width, then name.
    pub(super) fn declared(&self) -> String {
        match self.width {
            Some(width) => format!("[{}:0] {}", width - 1, self.name),
            None => self.name.clone(),
        }
    }
}

/// The names of a circuit's inputs, registers and outputs in hardware formats.
pub(super) struct HardwarePorts {
    /// Bit by bit.
    pub inputs: Vec<String>,
    pub registers: Vec<String>,
    /// Bit by bit.
    pub outputs: Vec<String>,
    /// The ports that the inputs are in.
    pub input_ports: Vec<HardwarePort>,
    /// The ports that the outputs are in.
    pub output_ports: Vec<HardwarePort>,
}

impl HardwarePorts {
    /// For a circuit with this identifier; the same in all formats. Names that count up from 0, such as `x0`,
    /// `x1`, …, become a vector `x`, except in an automaton's cell, where names say where a bit comes from.
    pub(super) fn of(netlist: &Netlist, name: &str, vectors: bool) -> HardwarePorts {
        // A port must not have the name of a module.
        let mut names = Names::new(&["clk", "rst", name, &format!("{name}_cell")]);
        let inputs: Vec<&str> = netlist.inputs.iter().map(String::as_str).collect();
        let outputs: Vec<&str> = netlist.outputs.iter().map(|output| output.name.as_str()).collect();
        let mut ports = |bits: &[&str]| -> Vec<HardwarePort> {
            let groups = grouped(bits, vectors);
            groups.into_iter().map(|(name, width)| HardwarePort { name: names.pick(name), width }).collect()
        };
        let (input_ports, output_ports) = (ports(&inputs), ports(&outputs));
        HardwarePorts {
            inputs: input_ports.iter().flat_map(HardwarePort::bits).collect(),
            registers: netlist.registers.iter().map(|register| names.pick(&register.name)).collect(),
            outputs: output_ports.iter().flat_map(HardwarePort::bits).collect(),
            input_ports,
            output_ports,
        }
    }
}

/// Names grouped by the part before the number; the count is given for those that count up from 0.
fn grouped<'a>(names: &[&'a str], vectors: bool) -> Vec<(&'a str, Option<usize>)> {
    let (mut groups, mut at) = (vec![], 0);
    while at < names.len() {
        let stem = names[at]
            .strip_suffix('0')
            .filter(|stem| vectors && !stem.ends_with(|c: char| c.is_ascii_digit()));
        let follows = |stem: &str, n: usize| names[at + n].strip_prefix(stem) == Some(&n.to_string());
        let width =
            stem.map_or(1, |stem| (1..names.len() - at).take_while(|&n| follows(stem, n)).count() + 1);
        match stem.map(|stem| stem.trim_end_matches('_')).filter(|stem| width > 1 && !stem.is_empty()) {
            Some(stem) => groups.push((stem, Some(width))),
            None => groups.push((names[at], None)),
        }
        at += if groups.last().is_some_and(|group| group.1.is_some()) { width } else { 1 };
    }
    groups
}

/// Whether a name looks like a generated one: a letter and a number.
fn is_generated(name: &str) -> bool {
    name.len() > 1 && name[1..].bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::{Names, grouped};

    #[test]
    fn names_that_count_up_are_vectors() {
        let names = ["a", "x0", "x1", "x2", "y0", "z1", "count_3_0", "count_3_1", "b10", "b11", "0", "1"];
        let wanted = [
            ("a", None),
            ("x", Some(3)),
            ("y0", None),
            ("z1", None),
            ("count_3", Some(2)),
            ("b10", None),
            ("b11", None),
            ("0", None),
            ("1", None),
        ];
        assert_eq!(grouped(&names, true), wanted);
        assert_eq!(grouped(&names[1..3], false), [("x0", None), ("x1", None)]);
    }

    #[test]
    fn names_become_identifiers() {
        let mut names = Names::new(&["clk"]);
        let given =
            ["a", "a", "a", "3x", "", "while", "Wire", "w12", "clk", "a b/c*/", "_q", "größe", "a_2", "__x"];
        let wanted = [
            "a", "a_2", "a_3", "n3x", "unnamed", "while_", "Wire_", "w12_", "clk_2", "a_b_c__", "n_q",
            "gr__e", "a_2_2", "n__x",
        ];
        assert_eq!(given.map(|name| names.pick(name)), wanted);
    }
}

//! DigitalJS circuits, parsed and evaluated according to DigitalJS's documentation.

use std::collections::HashMap;

use farad_circuit::Netlist;
use serde_json::Value;

use crate::circuits::{self, exported};

/// A circuit as devices and what drives each of their ports.
struct Sheet {
    devices: HashMap<String, Value>,
    drivers: HashMap<(String, String), String>,
}

impl Sheet {
    fn new(text: &str) -> Sheet {
        let file: Value = serde_json::from_str(text).unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_string();
        let mut drivers = HashMap::new();
        for connector in file["connectors"].as_array().unwrap() {
            let (from, to) = (&connector["from"], &connector["to"]);
            assert_eq!(text(&from["port"]), "out");
            let before = drivers.insert((text(&to["id"]), text(&to["port"])), text(&from["id"]));
            assert!(before.is_none(), "a port has two drivers");
        }
        let devices = file["devices"].as_object().unwrap().clone().into_iter().collect();
        Sheet { devices, drivers }
    }

    fn kind(&self, device: &str) -> &str {
        self.devices[device]["type"].as_str().unwrap()
    }

    /// Devices of a kind, in order.
    fn ports(&self, kind: &str) -> Vec<String> {
        let mut found: Vec<&String> =
            self.devices.keys().filter(|device| self.kind(device) == kind).collect();
        found.sort_by_key(|device| self.devices[*device]["order"].as_u64());
        found.into_iter().cloned().collect()
    }

    fn word(&self, device: &str, known: &mut HashMap<String, u64>) -> u64 {
        if let Some(&word) = known.get(device) {
            return word;
        }
        let mut port = |port: &str| self.word(&self.drivers[&(device.to_string(), port.to_string())], known);
        let word = match self.kind(device) {
            "Constant" if self.devices[device]["constant"] == "1" => !0,
            "Constant" => 0,
            "Not" => !port("in"),
            "Output" => port("in"),
            "And" => port("in1") & port("in2"),
            "Or" => port("in1") | port("in2"),
            "Xor" => port("in1") ^ port("in2"),
            "Nand" => !(port("in1") & port("in2")),
            "Nor" => !(port("in1") | port("in2")),
            "Xnor" => !(port("in1") ^ port("in2")),
            kind => panic!("an unknown device: {kind}"),
        };
        known.insert(device.to_string(), word);
        word
    }
}

#[test]
fn devices_compute_the_same() {
    for netlist in [circuits::every_gate(), Netlist::random(1, 8, 60, 5), Netlist::random(2, 70, 400, 9)] {
        let sheet = Sheet::new(&exported(netlist.clone(), "digitaljs")[0].1);
        let inputs = circuits::planes(&netlist);
        let wanted = circuits::outputs(&netlist, &inputs);
        let (ports, shown) = (sheet.ports("Input"), sheet.ports("Output"));
        assert_eq!((ports.len(), shown.len()), (netlist.inputs.len(), netlist.outputs.len()));
        for n in 0..inputs[0].len().min(20) {
            let mut known: HashMap<String, u64> =
                ports.iter().cloned().zip(inputs.iter().map(|plane| plane[n])).collect();
            for (output, wanted) in shown.iter().zip(&wanted) {
                assert_eq!(sheet.word(output, &mut known), wanted[n], "{}", netlist.name);
            }
        }
    }
}

#[test]
fn registers_are_flip_flops() {
    let netlist = circuits::sequential()[1].clone();
    let sheet = Sheet::new(&exported(netlist.clone(), "digitaljs")[0].1);
    let flops: Vec<&String> = sheet.devices.keys().filter(|device| sheet.kind(device) == "Dff").collect();
    assert_eq!(flops.len(), netlist.registers.len());
    for flop in flops {
        let driver = |port: &str| &sheet.drivers[&(flop.clone(), port.to_string())];
        assert_eq!(sheet.kind(driver("clk")), "Clock");
        assert!(sheet.devices.contains_key(driver("in")));
        assert_eq!(sheet.devices[flop]["polarity"]["clock"], true);
    }
}

//! Adapters, memory and transfers on whatever GPU there is.

mod device;

use device::{floats, open, read, turn};
use farad_gpu::{Error, GpuDevice, MemoryRange, Options, adapters};

#[test]
fn adapters_are_ordered_and_described() {
    let list = adapters();
    if list.is_empty() {
        {
            use std::io::Write;
            let _ = writeln!(std::io::stderr(), "skipped: no GPU adapter");
        }
    }
    for (index, info) in list.iter().enumerate() {
        assert_eq!(info.index, index);
        assert!(!info.name.is_empty() && !info.backend.is_empty(), "{info:?}");
        assert!(info.limits.storage_buffers >= 8 && info.limits.binding_bytes >= 128 << 20, "{info:?}");
        assert!(info.limits.subgroup_min <= info.limits.subgroup_max, "{info:?}");
    }
    assert!(list.is_sorted_by_key(|info| info.kind), "{list:?}");
}

#[test]
fn an_adapter_that_is_not_there_is_an_error() {
    let count = adapters().len();
    let error = GpuDevice::open(count + 3, Options::default()).unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with(&format!("open: no such adapter: index {0} (index {0} vs {count}", count + 3)),
        "{text}"
    );
    assert!(text.contains("help:"), "{text}");
}

#[test]
fn bytes_survive_the_round_trip() {
    let _turn = turn();
    let Some(device) = open(Options::default()) else { return };
    let memory = device.allocate(1000).unwrap();
    assert_eq!(memory.bytes(), 1024);
    for (offset, length) in [(0, 1000), (4, 1), (8, 3), (12, 7), (256, 0), (512, 512), (1020, 3)] {
        let data: Vec<u8> = (0..length).map(|i| (i * 7 + offset + 1) as u8).collect();
        device.write(&memory, offset, &data).unwrap();
        let back = device.read_blocking(&[MemoryRange::new(memory.clone(), offset, length)]).unwrap();
        assert_eq!(back, [data], "{length} bytes at {offset}");
    }
}

#[test]
fn one_read_takes_many_ranges_at_any_offset() {
    let _turn = turn();
    let Some(device) = open(Options::default()) else { return };
    let (a, b) = (device.allocate(64).unwrap(), device.allocate(64).unwrap());
    let bytes: Vec<u8> = (0..64).collect();
    device.write(&a, 0, &bytes).unwrap();
    device.write(&b, 0, &bytes[32..]).unwrap();
    let ranges = [
        MemoryRange::new(a.clone(), 3, 6),
        MemoryRange::new(b.clone(), 1, 1),
        MemoryRange::new(a.clone(), 62, 2),
        MemoryRange::new(b.clone(), 0, 0),
        MemoryRange::new(b, 7, 25),
    ];
    let parts = device.read_blocking(&ranges).unwrap();
    assert_eq!(parts, [&bytes[3..9], &bytes[33..34], &bytes[62..64], &[], &bytes[39..64]]);
    assert_eq!(device.counters().reads, 1);
    assert_eq!(device.counters().bytes_read, 34);
}

#[test]
fn awaited_reads_resolve_without_anyone_else_polling() {
    let _turn = turn();
    let Some(device) = open(Options::default()) else { return };
    let memory = floats(&device, &[1.0, 2.0, 3.0]);
    let first = device.read(&[MemoryRange::new(memory.clone(), 0, 4)]);
    let second = device.read(&[MemoryRange::new(memory.clone(), 8, 4)]);
    assert_eq!(pollster::block_on(second).unwrap(), [3.0f32.to_le_bytes()]);
    assert_eq!(pollster::block_on(first).unwrap(), [1.0f32.to_le_bytes()]);
    drop(device.read(&[MemoryRange::new(memory.clone(), 0, 12)]));
    assert_eq!(read(&device, &memory, 3), [1.0, 2.0, 3.0]);
}

#[test]
fn wrong_ranges_are_errors_with_both_numbers() {
    let _turn = turn();
    let Some(device) = open(Options::default()) else { return };
    let memory = device.allocate(256).unwrap();
    let write = device.write(&memory, 252, &[0; 8]).unwrap_err();
    assert_eq!(write.to_string(), "write: out of range: 8 bytes from 252 (end 260 vs size 256)");
    let write = device.write(&memory, 2, &[0; 4]).unwrap_err();
    assert_eq!(write.to_string(), "write: offset not aligned: 2 (remainder 2 vs multiples of 4)");
    let read = device.read_blocking(&[MemoryRange::new(memory.clone(), 257, 0)]).unwrap_err();
    assert_eq!(read.to_string(), "read: out of range: 0 bytes from 257 (end 257 vs size 256)");
    let copy = device.copy((&memory, 0), (&memory, 128), 256).unwrap_err();
    assert_eq!(copy.to_string(), "copy: out of range: 256 bytes from 128 (end 384 vs size 256)");
}

#[test]
fn too_large_names_what_was_asked_and_the_limit() {
    let _turn = turn();
    let Some(device) = open(Options::default()) else { return };
    let limit = device.info().limits.buffer_bytes as usize;
    for asked in [limit + 1, usize::MAX] {
        let error = device.allocate(asked).unwrap_err();
        assert!(
            matches!(error, Error::TooLarge { asked: a, limit: l, .. } if a == asked && l == limit),
            "{error}"
        );
        assert!(
            error.to_string().contains(&asked.to_string()) && error.to_string().contains(&limit.to_string())
        );
    }
    assert_eq!(device.counters().allocations, 0);
}

#[test]
fn memory_returns_to_the_pool_and_zeroed_memory_is_zero() {
    let _turn = turn();
    let Some(device) = open(Options::default()) else { return };
    let memory = floats(&device, &[5.0; 100]);
    let twin = memory.clone();
    assert_eq!((memory.handles(), device.counters().bytes_live), (2, 512));
    drop((memory, twin));
    assert_eq!(device.counters().bytes_live, 0);
    let again = device.allocate_zeroed(400).unwrap();
    assert_eq!(read(&device, &again, 100), [0.0; 100]);
    let counters = device.counters();
    // The most recently freed memory is skipped, so that the next writer need not wait for the last.
    assert_eq!((counters.allocations, counters.bytes_live, counters.bytes_peak), (2, 512, 512));
    let other = device.allocate_zeroed(400).unwrap();
    assert_eq!(read(&device, &other, 100), [0.0; 100]);
    assert_eq!(device.counters().allocations, 2, "the first one was to be used again");
    drop(other);
    for _ in 0..10 {
        drop(device.allocate(400).unwrap());
    }
    assert_eq!(device.counters().allocations, 3, "two are enough to take turns");
}

#[test]
fn the_pool_gives_memory_up_when_it_holds_too_much() {
    let _turn = turn();
    // 4 KiB to 128 MiB: more than the 256 MiB that the pool may hold.
    let device = GpuDevice::open(0, Options { noop: true, ..Options::default() }).unwrap();
    let sizes: Vec<usize> = (12..28).map(|power| 1 << power).chain([100 << 20, 120 << 20]).collect();
    let memories: Vec<_> = sizes.iter().map(|&bytes| device.allocate(bytes).unwrap()).collect();
    drop(memories);
    assert_eq!(device.counters().bytes_live, 0);
    device.wait().unwrap();
    let before = device.counters().allocations;
    let again: Vec<_> = sizes.iter().map(|&bytes| device.allocate(bytes).unwrap()).collect();
    let made = device.counters().allocations - before;
    assert!(made > 0 && made < sizes.len() as u64, "{made} of {} were made anew", sizes.len());
    drop(again);
}

#[test]
fn copies_are_ordered_with_writes_and_work_inside_one_memory() {
    let _turn = turn();
    let Some(device) = open(Options::default()) else { return };
    let (a, b) = (floats(&device, &[1.0, 2.0, 3.0, 4.0]), floats(&device, &[0.0; 4]));
    device.copy((&a, 0), (&b, 0), 16).unwrap();
    // The copy was requested first, so it must not see this.
    device.write(&a, 0, &9.0f32.to_le_bytes()).unwrap();
    assert_eq!(read(&device, &b, 4), [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(read(&device, &a, 4), [9.0, 2.0, 3.0, 4.0]);
    device.copy((&b, 0), (&b, 4), 12).unwrap();
    assert_eq!(read(&device, &b, 4), [1.0, 1.0, 2.0, 3.0]);
    // The source may be dropped before the copy is submitted.
    let source = floats(&device, &[7.0, 8.0]);
    device.copy((&source, 0), (&a, 8), 8).unwrap();
    drop(source);
    let _reused = floats(&device, &[0.0, 0.0]);
    assert_eq!(read(&device, &a, 4), [9.0, 2.0, 7.0, 8.0]);
}

#[test]
fn two_threads_share_a_device() {
    let _turn = turn();
    let Some(device) = open(Options::default()) else { return };
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let device = device.clone();
            scope.spawn(move || {
                for round in 0..20 {
                    let values: Vec<f32> = (0..50).map(|i| (thread * 1000 + round * 50 + i) as f32).collect();
                    let (a, b) = (floats(&device, &values), device.allocate(200).unwrap());
                    device.copy((&a, 0), (&b, 0), 200).unwrap();
                    assert_eq!(read(&device, &b, 50), values);
                }
            });
        }
    });
    assert!(device.counters().allocations <= 6, "{:?}", device.counters());
}

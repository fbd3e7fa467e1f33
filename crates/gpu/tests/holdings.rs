//! Which device memory belongs to, what holds it, and what happens when it runs out.

mod device;
mod kernels;

use device::{floats, open, read, turn};
use farad_gpu::{Error, GpuDevice, Memory, MemoryRange, Options};
use kernels::{LEN, affine, bits, counter, ramp};

#[test]
fn memory_of_another_handle_is_refused() {
    let _turn = turn();
    let Some(device) = open(Options::default()) else { return };
    let Some(other) = open(Options { core: true, ..Options::default() }) else { return };
    let (own, foreign) = (floats(&device, &[1.0; LEN]), floats(&other, &[5.0; LEN]));
    let refused = |result: Result<(), Error>, wanted: &str| match result.unwrap_err() {
        Error::Foreign { op, .. } => assert_eq!(op, wanted),
        error => panic!("{error}"),
    };
    refused(device.write(&foreign, 0, &[0; 4]), "write");
    refused(device.copy((&foreign, 0), (&own, 0), 4), "copy");
    refused(device.copy((&own, 0), (&foreign, 0), 4), "copy");
    refused(device.read_blocking(&[MemoryRange::new(foreign.clone(), 0, 4)]).map(drop), "read");
    let executable = counter(&device);
    refused(executable.run(&[(&foreign, 0)], &[], &[&own]), "run");
    refused(executable.run(&[(&own, 0)], &[], &[&foreign]), "run");
    // Both devices are still usable.
    executable.run(&[(&own, 0)], &[], &[&own]).unwrap();
    assert_eq!((read(&device, &own, 1), read(&other, &foreign, 1)), (vec![2.0], vec![5.0]));
}

#[test]
fn a_limit_names_what_holds_the_memory_and_the_device_goes_on() {
    const LIMIT: usize = 64 << 10;
    let _turn = turn();
    let noop = GpuDevice::open(0, Options { noop: true, memory_limit: Some(LIMIT), ..Options::default() });
    let real = open(Options { memory_limit: Some(LIMIT), ..Options::default() });
    for device in real.into_iter().chain(noop) {
        let executable = counter(&device);
        let x = floats(&device, &[1.0; LEN]);
        let held: Vec<Memory> = (0..3).map(|_| device.allocate(16 << 10).unwrap()).collect();
        let error = device.allocate(16 << 10).unwrap_err();
        let Error::OutOfMemory { asked_bytes, limit, holdings, .. } = &error else { panic!("{error}") };
        assert_eq!((*asked_bytes, *limit), (Some(16 << 10), Some(LIMIT as u64)));
        assert_eq!((holdings.tensors, holdings.pool), (3 * (16 << 10) + 512, 0));
        assert_eq!(*holdings, device.holdings());
        assert!(holdings.parameters > 0, "{error}");
        // A run needs no new memory; a read needs staging memory, which is counted too.
        executable.run(&[(&x, 0)], &[], &[&x]).unwrap();
        assert_eq!(device.read_blocking(&[MemoryRange::new(x.clone(), 0, 400)]).unwrap()[0].len(), 400);
        assert!(device.holdings().staging >= 400);
        let error = device.read_blocking(&[MemoryRange::new(held[0].clone(), 0, 16 << 10)]).unwrap_err();
        assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
        // Pooled memory of another size is freed when needed, also for staging.
        drop(held);
        assert_eq!(device.holdings().pool, 3 * (16 << 10));
        let large = device.allocate(32 << 10).unwrap();
        assert_eq!(device.holdings().pool, 0);
        drop(large);
        let small = device.allocate(16 << 10).unwrap();
        assert_eq!(
            device.read_blocking(&[MemoryRange::new(small.clone(), 0, 16 << 10)]).unwrap()[0].len(),
            16 << 10
        );
        assert_eq!(device.holdings().pool, 0, "staging memory was made by freeing the pool");
        executable.run(&[(&x, 0)], &[], &[&x]).unwrap();
        device.wait().unwrap();
    }
}

#[test]
fn holdings_are_nothing_once_everything_is_dropped() {
    let _turn = turn();
    let Some(device) = open(Options::default()) else { return };
    let executable = affine(&device);
    let x = floats(&device, &ramp());
    executable.run(&[(&x, 0)], &bits(&[1.0, 2.0]), &[&device.allocate(400).unwrap()]).unwrap();
    let holdings = device.holdings();
    assert_eq!((holdings.tensors, holdings.blocks), (512, 512));
    assert!(holdings.parameters >= 256);
    drop((executable, x));
    device.wait().unwrap();
    let left = device.holdings();
    assert_eq!((left.tensors, left.blocks, left.parameters, left.pool), (0, 0, 0, 3 * 512));
}

//! Forces along one degree of freedom of a joint: a spring, a damper, limits, a motor.
//!
//! Invariant: dampers and stiff springs are evaluated at the end of the sub-step (implicitly), so they are
//! stable for any length of it. Weak springs are evaluated at its start, so they conserve energy.

use farad_tensor::{Device, Tensor};

use crate::assembly::DriveRow;
use crate::quantity::{ONE, Quantity, ZERO};
use crate::rows::Arrangement;

/// Beyond a limit there is damping too: the limit's stiffness times this, in seconds.
const LIMIT_DAMPING: f64 = 0.01;

/// The drives of rows, as columns.
pub(crate) struct DriveColumns {
    stiffness: Quantity,
    damping: Quantity,
    bias: Quantity,
    low: Quantity,
    high: Quantity,
    limit: Quantity,
    motor: Option<MotorColumns>,
    idle: bool,
    arrangement: Arrangement,
}

/// Motors of rows.
struct MotorColumns {
    /// What actions are multiplied by.
    gain: Quantity,
    range: [Quantity; 2],
    /// Which action is whose: of all rows, and of the only one.
    index: Tensor,
    first: usize,
}

impl DriveColumns {
    pub fn new(rows: &[&DriveRow], arrangement: Arrangement, device: &Device) -> DriveColumns {
        let column = |value: fn(&DriveRow) -> f64| {
            arrangement.column(&rows.iter().map(|row| value(row)).collect::<Vec<_>>(), device)
        };
        let list: Vec<usize> = rows.iter().map(|row| row.motor.unwrap_or(0)).collect();
        let list = arrangement.pattern(&list);
        let motor = rows.iter().any(|row| row.motor.is_some()).then(|| {
            let index: Vec<i32> = list.iter().map(|&n| n as i32).collect();
            let gain = column(|row| if row.motor.is_some() { row.gain } else { 0.0 });
            let range = [column(|row| row.range[0]), column(|row| row.range[1])];
            MotorColumns { gain, range, index: Tensor::from_vec(index, [list.len()], device), first: list[0] }
        });
        DriveColumns {
            stiffness: column(|row| row.stiffness),
            damping: column(|row| row.damping),
            bias: column(|row| row.bias),
            low: column(|row| row.low),
            high: column(|row| row.high),
            limit: column(|row| row.limit_stiffness),
            motor,
            idle: rows.iter().all(|row| row.is_idle()),
            arrangement,
        }
    }

    pub fn is_idle(&self) -> bool {
        self.idle
    }

    /// The force of the motors, for actions `[worlds, motors]`.
    fn motor(&self, actions: Option<&Tensor>) -> Quantity {
        let (Some(MotorColumns { gain, range: [low, high], index, first }), Some(actions)) =
            (&self.motor, actions)
        else {
            return ZERO;
        };
        let own = match self.arrangement {
            Arrangement::Apart => actions.narrow(1, *first, 1).unsqueeze(2),
            _ => actions.permute(&[1, 0]).index_select(0, index).unsqueeze(0),
        };
        Quantity::from(own).clamp(low, high) * gain
    }
}

/// A degree of freedom: an angle or a length, its speed, and the speed that a unit impulse gives it.
pub(crate) struct Freedom {
    pub value: Quantity,
    pub speed: Quantity,
    pub way: Quantity,
}

/// The force along a degree of freedom.
pub(crate) fn drive(
    columns: &DriveColumns,
    freedom: &Freedom,
    actions: Option<&Tensor>,
    time: f64,
) -> Quantity {
    let Freedom { value, speed, way } = freedom;
    let mut force = columns.motor(actions) + &columns.bias - &columns.stiffness * value;
    let mut stiffness = columns.stiffness.clone();
    let mut damping = columns.damping.clone();
    if !columns.limit.is_zero() {
        let (above, below) = ((value - &columns.high).relu(), (&columns.low - value).relu());
        let beyond = (&above + &below).positive(&columns.limit, &ZERO);
        force = force + &columns.limit * (below - above);
        stiffness = stiffness + &beyond;
        damping = damping + beyond * LIMIT_DAMPING;
    }
    implicit(&force, &stiffness, &damping, speed, way, time)
}

/// A force with a spring and a damper, evaluated implicitly as far as stability requires.
pub(crate) fn implicit(
    force: &Quantity,
    stiffness: &Quantity,
    damping: &Quantity,
    speed: &Quantity,
    way: &Quantity,
    time: f64,
) -> Quantity {
    let stiff = stiffness * way * (time * time);
    let share = if stiff.is_zero() { ZERO } else { stiff.over(&(ONE + &stiff)) };
    let damper = damping + stiffness * share * time;
    (force - &damper * speed).over(&(ONE + damper * way * time))
}

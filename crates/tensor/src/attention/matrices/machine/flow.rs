//! Statements of the machine.

use std::rc::Rc;

use naga::{Barrier, Block, GatherMode, Statement, SubgroupOperation};

use super::{Flow, Frame, LANES, Machine, Value};

impl<'a> Machine<'a> {
    /// Runs a block for the threads that are here.
    pub(super) fn block(&mut self, frame: &mut Frame<'a>, block: &'a Block) {
        for statement in block.iter() {
            if !frame.flow.contains(&Flow::Here) {
                return;
            }
            self.statement(frame, statement);
        }
    }

    fn statement(&mut self, frame: &mut Frame<'a>, statement: &'a Statement) {
        match statement {
            Statement::Emit(range) => {
                for handle in range.clone() {
                    let values = self.evaluate(frame, handle);
                    frame.known[handle.index()] = Some(Rc::new(values));
                }
            }
            Statement::Block(block) => self.block(frame, block),
            Statement::If { condition, accept, reject } => self.branch(frame, *condition, accept, reject),
            Statement::Switch { selector, cases } => self.choose(frame, *selector, cases),
            Statement::Loop { body, continuing, break_if: None } => self.repeat(frame, body, continuing),
            Statement::Break => leave(frame, Flow::Broken),
            Statement::Continue => leave(frame, Flow::Continued),
            Statement::Return { value } => {
                if let Some(value) = value {
                    let values = self.value(frame, *value);
                    for thread in (0..self.threads).filter(|&thread| frame.flow[thread] == Flow::Here) {
                        frame.result[thread] = values[thread].clone();
                    }
                }
                leave(frame, Flow::Away);
            }
            Statement::ControlBarrier(barrier) => self.wait(frame, *barrier),
            Statement::Store { pointer, value } => self.store(frame, *pointer, *value),
            Statement::CooperativeStore { target, data } => self.store_matrix(frame, *target, data),
            Statement::Call { function, arguments, result } => {
                let arguments = arguments.iter().map(|&argument| self.value(frame, argument)).collect();
                let (called, info) = (&self.module.functions[*function], &self.info[*function]);
                let away = |&flow: &Flow| if flow == Flow::Here { flow } else { Flow::Away };
                let flow = frame.flow.iter().map(away).collect();
                let values = self.call(called, info, arguments, flow);
                if let Some(result) = result {
                    frame.known[result.index()] = Some(Rc::new(values));
                }
            }
            Statement::SubgroupGather { mode, argument, result } => {
                let (GatherMode::ShuffleXor(index) | GatherMode::Shuffle(index)) = mode else {
                    panic!("{mode:?}")
                };
                let (values, index) = (self.value(frame, *argument), self.value(frame, *index));
                let from = |thread: usize| {
                    let index = index[thread].bits()[0] as usize;
                    let own = if matches!(mode, GatherMode::ShuffleXor(_)) { thread % LANES } else { 0 };
                    values[thread / LANES * LANES + (own ^ index)].clone()
                };
                frame.known[result.index()] = Some(Rc::new((0..self.threads).map(from).collect()));
            }
            Statement::SubgroupCollectiveOperation {
                op: SubgroupOperation::Any, argument, result, ..
            } => {
                let values = self.value(frame, *argument);
                let any = |subgroup: usize| {
                    let lanes = subgroup * LANES..(subgroup + 1) * LANES;
                    values[lanes].iter().any(|value| value.bits()[0] != 0)
                };
                let found =
                    self.per_subgroup(frame, |_, subgroup| Value::Bits([any(subgroup) as u32, 0, 0, 0]));
                frame.known[result.index()] = Some(Rc::new(found));
            }
            other => panic!("{other:?}"),
        }
    }

    fn branch(
        &mut self,
        frame: &mut Frame<'a>,
        condition: naga::Handle<naga::Expression>,
        accept: &'a Block,
        reject: &'a Block,
    ) {
        let condition = self.value(frame, condition);
        let before = frame.flow.clone();
        let mut after = before.clone();
        for (side, block) in [(true, accept), (false, reject)] {
            let goes =
                |thread: usize| before[thread] == Flow::Here && (condition[thread].bits()[0] != 0) == side;
            frame.flow = (0..self.threads).map(|n| if goes(n) { Flow::Here } else { Flow::Away }).collect();
            self.block(frame, block);
            (0..self.threads).filter(|&n| goes(n)).for_each(|n| after[n] = frame.flow[n]);
        }
        frame.flow = after;
    }

    /// Cases that neither fall through nor have a `break` in them.
    fn choose(
        &mut self,
        frame: &mut Frame<'a>,
        selector: naga::Handle<naga::Expression>,
        cases: &'a [naga::SwitchCase],
    ) {
        let selector = self.value(frame, selector);
        let before = frame.flow.clone();
        let mut after = before.clone();
        let case_of = |thread: usize| {
            let number = selector[thread].bits()[0];
            let is = |case: &naga::SwitchCase| case.value == naga::SwitchValue::U32(number);
            let default = |case: &naga::SwitchCase| case.value == naga::SwitchValue::Default;
            cases.iter().position(is).or_else(|| cases.iter().position(default))
        };
        for (number, case) in cases.iter().enumerate() {
            let goes = |thread: usize| before[thread] == Flow::Here && case_of(thread) == Some(number);
            frame.flow = (0..self.threads).map(|n| if goes(n) { Flow::Here } else { Flow::Away }).collect();
            self.block(frame, &case.body);
            let left = |flow: Flow| if flow == Flow::Broken { Flow::Here } else { flow };
            (0..self.threads).filter(|&n| goes(n)).for_each(|n| after[n] = left(frame.flow[n]));
        }
        frame.flow = after;
    }

    fn repeat(&mut self, frame: &mut Frame<'a>, body: &'a Block, continuing: &'a Block) {
        let before = frame.flow.clone();
        let change = |frame: &mut Frame, from: Flow, to: Flow| {
            let flows = frame.flow.iter_mut().zip(&before).filter(|(_, before)| **before == Flow::Here);
            flows.filter(|(flow, _)| **flow == from).for_each(|(flow, _)| *flow = to);
        };
        while frame.flow.contains(&Flow::Here) {
            self.block(frame, body);
            change(frame, Flow::Continued, Flow::Here);
            self.block(frame, continuing);
        }
        change(frame, Flow::Broken, Flow::Here);
    }

    fn wait(&mut self, frame: &Frame<'a>, barrier: Barrier) {
        if barrier.contains(Barrier::WORK_GROUP) {
            assert!(frame.flow.iter().all(|&flow| flow == Flow::Here), "not all threads reach a barrier");
            return self.memory.barrier();
        }
        for subgroup in (0..self.threads / LANES).filter(|&subgroup| frame.whole(subgroup)) {
            self.memory.subgroup_barrier(subgroup);
        }
    }
}

fn leave(frame: &mut Frame, to: Flow) {
    frame.flow.iter_mut().filter(|flow| **flow == Flow::Here).for_each(|flow| *flow = to);
}

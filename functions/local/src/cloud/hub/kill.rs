//! The switch that ends the process at a chosen call, as far as anything outside it can tell.

/// On which side of its call the process dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// The call never reached its service.
    Before,
    /// The service did its work; nobody learned of it.
    After,
}

#[derive(Debug, Default)]
pub(super) struct KillSwitch {
    armed: Option<(u64, Moment)>,
    dead: bool,
}

/// What the switch says about a call that arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Life {
    /// It is an ordinary call.
    Alive,
    /// The process is dead, or dies of this call before it is made.
    Dead,
    /// This call is made, and the process dies of it.
    LastCall,
}

impl KillSwitch {
    pub(super) fn arm(&mut self, calls: u64, moment: Moment) {
        self.armed = Some((calls, moment));
    }

    pub(super) fn is_dead(&self) -> bool {
        self.dead
    }

    pub(super) fn revive(&mut self) {
        *self = Self::default();
    }

    pub(super) fn die(&mut self) {
        self.dead = true;
        self.armed = None;
    }

    pub(super) fn arrives(&mut self) -> Life {
        if self.dead {
            return Life::Dead;
        }
        let Some((left, moment)) = &mut self.armed else { return Life::Alive };
        *left = left.saturating_sub(1);
        if *left > 0 {
            return Life::Alive;
        }
        match moment {
            Moment::Before => {
                self.die();
                Life::Dead
            }
            Moment::After => {
                // Whoever calls while this one is served is still answered, if its answer comes first.
                self.armed = None;
                Life::LastCall
            }
        }
    }
}

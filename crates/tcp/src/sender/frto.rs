//! F-RTO (RFC 5682) tells whether a retransmission timeout was spurious, by the two ACKs after it. The
//! SACK-enhanced version (section 3) looks at what they deliver, the basic one (section 2) at whether they
//! advance.

/// The detection that may be under way since the latest timeout.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Frto {
    is_under_way: bool,
}

/// What an ACK after a timeout shows.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrtoAck {
    /// Whether it delivers a segment that was sent before the timeout and never sent again.
    pub original_delivered: bool,
    /// Whether new data has been sent since the timeout, by step 2.b.
    pub new_data_sent: bool,
    /// Whether it advances the cumulative ACK, but not to the end of what was in flight at the timeout.
    pub advances_in_part: bool,
    /// Whether it is a duplicate ACK, or SACKs something.
    pub is_duplicate: bool,
    /// Whether the application has written more, and the receiver's window has room for it.
    pub may_send_new_data: bool,
}

/// The conclusion from an ACK after a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrtoVerdict {
    /// The timeout was spurious (step 3.b): its reduction is to be undone.
    Spurious,
    /// New data is to be sent instead of what counts as lost, to see what comes back (step 2.b).
    SendNewData,
    /// There is no conclusion: what counts as lost is sent again as after any timeout.
    Conventional,
}

impl Frto {
    /// The retransmission timer has gone off, and detection begins where `applies` (step 1).
    pub fn begin(&mut self, applies: bool) {
        self.is_under_way = applies;
    }

    /// Detection ends without a verdict; recovery goes on as after any timeout.
    pub fn give_up(&mut self) {
        self.is_under_way = false;
    }

    /// An ACK that arrives while recovering from the timeout (steps 2 and 3).
    pub fn on_ack(&mut self, ack: FrtoAck) -> FrtoVerdict {
        if !self.is_under_way {
            return FrtoVerdict::Conventional;
        }
        if ack.original_delivered {
            return FrtoVerdict::Spurious;
        }
        if ack.new_data_sent {
            if ack.is_duplicate {
                self.give_up(); // step 3.a: the loss was real
            }
        } else if ack.advances_in_part {
            if ack.may_send_new_data {
                return FrtoVerdict::SendNewData;
            }
            self.give_up(); // step 2.b cannot be done without new data
        }
        FrtoVerdict::Conventional
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ACK that shows nothing.
    const ACK: FrtoAck = FrtoAck {
        original_delivered: false,
        new_data_sent: false,
        advances_in_part: false,
        is_duplicate: false,
        may_send_new_data: true,
    };

    fn under_way() -> Frto {
        let mut frto = Frto::default();
        frto.begin(true);
        frto
    }

    #[test]
    fn step_2_asks_for_new_data_and_step_3_b_finds_the_timeout_spurious() {
        let mut frto = under_way();
        let first = FrtoAck { advances_in_part: true, ..ACK };
        assert_eq!(frto.on_ack(first), FrtoVerdict::SendNewData);
        let second = FrtoAck { original_delivered: true, new_data_sent: true, ..ACK };
        assert_eq!(frto.on_ack(second), FrtoVerdict::Spurious);
    }

    #[test]
    fn step_3_a_holds_the_loss_for_real_and_nothing_later_changes_that() {
        let mut frto = under_way();
        frto.on_ack(FrtoAck { advances_in_part: true, ..ACK });
        let duplicate = FrtoAck { is_duplicate: true, new_data_sent: true, ..ACK };
        assert_eq!(frto.on_ack(duplicate), FrtoVerdict::Conventional);
        let late = FrtoAck { original_delivered: true, new_data_sent: true, ..ACK };
        assert_eq!(frto.on_ack(late), FrtoVerdict::Conventional);
    }

    #[test]
    fn a_duplicate_before_new_data_leaves_it_open() {
        // Without SACK it may stand for a segment that was in flight before the timeout.
        let mut frto = under_way();
        let duplicate = FrtoAck { is_duplicate: true, ..ACK };
        assert_eq!(frto.on_ack(duplicate), FrtoVerdict::Conventional);
        let advances = FrtoAck { advances_in_part: true, ..ACK };
        assert_eq!(frto.on_ack(advances), FrtoVerdict::SendNewData);
    }

    #[test]
    fn an_original_that_is_sacked_first_is_enough() {
        // The SACK-enhanced version needs no new data (section 3).
        let mut frto = under_way();
        let sacked = FrtoAck { original_delivered: true, is_duplicate: true, ..ACK };
        assert_eq!(frto.on_ack(sacked), FrtoVerdict::Spurious);
    }

    #[test]
    fn without_new_data_to_send_it_ends_at_step_2() {
        let mut frto = under_way();
        let first = FrtoAck { advances_in_part: true, may_send_new_data: false, ..ACK };
        assert_eq!(frto.on_ack(first), FrtoVerdict::Conventional);
        let later = FrtoAck { original_delivered: true, ..ACK };
        assert_eq!(frto.on_ack(later), FrtoVerdict::Conventional, "it is over");
    }

    #[test]
    fn it_tells_nothing_where_it_does_not_apply_or_was_given_up() {
        let spurious = FrtoAck { original_delivered: true, ..ACK };
        let mut frto = Frto::default();
        assert_eq!(frto.on_ack(spurious), FrtoVerdict::Conventional);
        frto.begin(false);
        assert_eq!(frto.on_ack(spurious), FrtoVerdict::Conventional);
        frto.begin(true);
        frto.give_up();
        assert_eq!(frto.on_ack(spurious), FrtoVerdict::Conventional);
    }
}

package cinema;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

final class Seats {
  private static final Logger LOG = LoggerFactory.getLogger(Seats.class);
  private final PayOffice office;

  Seats(PayOffice office) {
    this.office = office;
  }

  Ticket sell(Order order) {
    if (order.date() == null) {
      LOG.warn("Order refused: date of {} cannot be read", order.guest());
      throw new BadOrder("date");
    }
    office.charge(order);
    LOG.info("Seat {} sold", order.seat());
    return new Ticket(order.seat());
  }
}

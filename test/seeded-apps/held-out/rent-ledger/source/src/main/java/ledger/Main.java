package ledger;

import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

public final class Main {
  private static final Logger LOG = LoggerFactory.getLogger(Main.class);

  public static void main(String[] args) {
    for (Rent rent : Rents.due()) book(rent);
  }

  static void book(Rent rent) {
    try {
      List<Share> shares = new Shares(rent).each();
      LOG.info("Rent {} booked as {} shares", rent.id(), shares.size());
    } catch (RuntimeException e) {
      LOG.error("Rent {} was not booked", rent.id(), e);
    }
  }
}

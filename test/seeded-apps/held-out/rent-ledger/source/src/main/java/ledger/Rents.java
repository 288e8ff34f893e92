package ledger;

import java.util.List;

final class Rents {
  static List<Rent> due() {
    return Database.rents("select * from rents where due <= current_date");
  }
}

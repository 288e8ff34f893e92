package ledger;

import java.math.BigDecimal;
import java.util.List;

final class Shares {
  private final Rent rent;

  Shares(Rent rent) {
    this.rent = rent;
  }

  List<Share> each() {
    BigDecimal one = part();
    return rent.tenants().stream().map(tenant -> new Share(tenant, one)).toList();
  }

  private BigDecimal part() {
    return rent.amount().divide(BigDecimal.valueOf(rent.tenants().size()));
  }
}

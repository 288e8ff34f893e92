package ledger;

import java.math.BigDecimal;
import java.util.List;

record Rent(String id, BigDecimal amount, List<String> tenants) {}

record Share(String tenant, BigDecimal amount) {}

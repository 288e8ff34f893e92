package cinema;

final class Pause {
  static void before(int attempt) {
    try {
      Thread.sleep(Math.min(60_000L, 500L << attempt));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}

package example.rooms;

import java.time.Instant;

/** Without an end: until somebody leaves. */
public record Booking(String room, Instant start, Instant end) {}

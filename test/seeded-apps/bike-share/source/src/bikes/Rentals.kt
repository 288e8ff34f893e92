package bikes

class Rentals(private val answers: Answers, private val log: Log) {
    fun rent(bike: Bike, card: Card) {
        if (!card.isAccepted()) return log.error("rental refused: card declined")
        if (bike.station.isFull) log.warn("station ${bike.station.id} is full")
        log.info("bike ${bike.id} rented")
    }
}

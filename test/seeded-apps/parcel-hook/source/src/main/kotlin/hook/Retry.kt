package hook

import kotlinx.coroutines.delay

/** Seconds. */
const val PAUSE = 60L

suspend fun announce(parcel: Parcel, carrier: Carrier, log: Log) {
    while (!carrier.isReady()) {
        log.warn("carrier not ready, parcel ${parcel.id} again")
        delay(PAUSE)
    }
    carrier.announce(parcel)
    log.info("announced parcel ${parcel.id}")
}

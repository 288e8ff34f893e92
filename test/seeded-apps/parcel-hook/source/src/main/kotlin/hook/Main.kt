package hook

suspend fun main() {
    for (parcel in Parcels.waiting()) announce(parcel, Carrier.fromEnvironment(), Log())
}

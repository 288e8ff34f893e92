package pool

data class Pass(val holder: String, val visits: Int)

/** "holder;visits", as the card has it. */
fun readPass(text: String): Pass {
    val parts = text.split(";")
    return Pass(parts[0], parts[1].toInt())
}

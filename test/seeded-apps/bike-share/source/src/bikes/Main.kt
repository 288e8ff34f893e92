package bikes

fun main() {
    val answers = Answers(Log())
    Rentals(answers, Log()).serve()
}

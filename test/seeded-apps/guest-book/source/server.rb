require_relative "lib/book"

BOOK = Book.new([])

def call(env)
  number = env["QUERY_STRING"][/page=(\d+)/, 1].to_i
  [200, {}, [BOOK.page(number.zero? ? 1 : number)]]
rescue StandardError => error
  warn "ERROR #{error.full_message(highlight: false, order: :top)}"
  [500, {}, []]
end

import { describe, expect, test } from 'vitest'
import { STACK_TRACE } from '../../sample/sample-logs.ts'
import { cpuMs } from '../../../test/support/cpu-ms.ts'
import { readStackTrace } from './stack-trace.ts'

/** Language, text, exception, and the innermost frame. */
const TRACES: [string, string, string | null, { path: string; line: number; symbol: string | null }][] = [
  [
    'Node',
    STACK_TRACE,
    'TypeError',
    { path: 'file:///srv/outdoor-shop/src/discounts.js', line: 8, symbol: 'discountOn' },
  ],
  [
    'Node with a cause',
    'Error: order failed\n    at place (/srv/a.js:1:1) {\n  [cause]: RangeError: no\n      at count (/srv/b.js:2:3)\n  }',
    'RangeError',
    { path: '/srv/b.js', line: 2, symbol: 'count' },
  ],
  [
    'Python, innermost last',
    'Traceback (most recent call last):\n  File "/app/a.py", line 3, in <module>\n    go()\n  File "/app/b.py", line 9, in go\n    x[1]\nIndexError: list index out of range',
    'IndexError',
    { path: '/app/b.py', line: 9, symbol: 'go' },
  ],
  [
    'Python, where the cause comes first',
    'Traceback (most recent call last):\n  File "/app/a.py", line 3, in read\n    x["y"]\nKeyError: \'y\'\n\nThe above exception was the direct cause of the following exception:\n\nTraceback (most recent call last):\n  File "/app/b.py", line 9, in go\n    raise Failed() from e\napp.Failed: no',
    'KeyError',
    { path: '/app/a.py', line: 3, symbol: 'read' },
  ],
  [
    'Java, where the cause comes last',
    'a.B: no\n\tat com.x.Web.go(Web.java:8)\nCaused by: java.lang.IllegalStateException: closed\n\tat com.x.shop.Orders.total(Orders.java:42)\n\t... 3 more',
    'IllegalStateException',
    { path: 'com/x/shop/Orders.java', line: 42, symbol: 'total' },
  ],
  [
    'Java, where a cause has a cause',
    'a.B: no\n\tat com.x.Web.go(Web.java:8)\nCaused by: a.Failed: closed\n\tat com.x.shop.Orders.total(Orders.java:42)\nCaused by: java.io.EOFException: end\n\tat com.x.shop.Feed.read(Feed.java:7)\n\t... 3 more',
    'EOFException',
    { path: 'com/x/shop/Feed.java', line: 7, symbol: 'read' },
  ],
  [
    '.NET',
    'System.NullReferenceException: Object reference not set\n   at Shop.Orders.Total(Order o) in /src/Shop/Orders.cs:line 4',
    'NullReferenceException',
    { path: '/src/Shop/Orders.cs', line: 4, symbol: 'Total' },
  ],
  [
    'Go',
    'panic: runtime error: invalid memory address\n\ngoroutine 7 [running]:\nmain.(*Cart).Total(0x0)\n\t/build/cart.go:12 +0x1d\nmain.main()\n\t/build/main.go:5 +0x2',
    'panic',
    { path: '/build/cart.go', line: 12, symbol: 'Total' },
  ],
  [
    'Ruby',
    "/srv/lib/book.rb:13:in 'Book#page': undefined method 'map' for nil (NoMethodError)\n\tfrom /srv/server.rb:7:in 'Object#call'",
    'NoMethodError',
    { path: '/srv/lib/book.rb', line: 13, symbol: 'page' },
  ],
  [
    'PHP, where the place of the error stands in the message',
    'PHP Fatal error:  Uncaught TypeError: no in /var/www/src/Cart.php:8\nStack trace:\n#0 /var/www/index.php(4): Cart->total()',
    'TypeError',
    { path: '/var/www/src/Cart.php', line: 8, symbol: null },
  ],
  [
    'Rust',
    "thread 'main' panicked at src/pricing.rs:3:24:\ncalled `Result::unwrap()` on an `Err` value",
    'panic',
    { path: 'src/pricing.rs', line: 3, symbol: null },
  ],
  [
    'Elixir',
    '** (KeyError) key :price not found\n    (shop 0.1.0) lib/shop/orders.ex:12: Shop.Orders.total/1',
    'KeyError',
    { path: 'lib/shop/orders.ex', line: 12, symbol: 'total' },
  ],
  [
    'a shell, in passing',
    './deploy.sh: line 12: nodee: command not found',
    null,
    { path: './deploy.sh', line: 12, symbol: null },
  ],
]

test.each(TRACES)('%s', (_, text, exception, innermost) => {
  const trace = readStackTrace(text)
  expect(trace?.exception).toBe(exception)
  expect(trace?.frames[0]).toMatchObject(innermost)
})

describe('what is not a trace', () => {
  test.each([
    ['a sentence', 'order o-1 placed: 2 items at 10:30'],
    ['nothing', ''],
    ['an address', 'listening on http://127.0.0.1:8080'],
    [
      'what somebody sent, between quotes',
      'search by v1: "x\nTypeError: no\n    at remove (/srv/src/search.js:11:3)"',
    ],
    ['what somebody sent, and never closed', 'search by v1: "x\n    at remove (/srv/src/search.js:11:3)'],
  ])('%s', (_, text) => {
    expect(readStackTrace(text)).toBeNull()
  })
})

test('a line that was written to be slow is read in no time', () => {
  const hostile = [
    `at ${'( in '.repeat(3_000)}`,
    `at ${'a '.repeat(8_000)}(`,
    `${'a/'.repeat(8_000)}.js`,
    `File "${'"'.repeat(16_000)}`,
    'Error'.repeat(3_000),
    `#1 ${'x ('.repeat(5_000)}`,
  ]
  for (const line of hostile) {
    const text = Array.from({ length: 300 }, () => line).join('\n')
    expect(cpuMs(() => readStackTrace(text))).toBeLessThan(2_000)
  }
})

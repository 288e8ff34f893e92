import { expect, test } from 'vitest'
import { titleInWords } from './title-in-words.ts'

test.each([
  ['TypeError at src/cart.js:12: 5 log lines since noon.', 'src/cart.js:12', 'TypeError in cart.js:12'],
  ['A java.lang.NullPointerException is thrown.', null, 'NullPointerException'],
  ['KeyError at app/models.py:7.', null, 'KeyError in models.py:7'],
  ['The total is NaN. It began yesterday.', 'src/total.js:3', 'The total is NaN in total.js:3'],
  ['A warning at send.js:1: 3 log lines.', 'src/send.js:1', 'A warning at send.js:1: 3 log lines'],
  ['No place\nin the source', null, 'No place'],
  [`${'long '.repeat(40)}.`, null, `${'long '.repeat(18)}…`],
  ['', 'src/a.js:1', undefined],
  [null, 'src/a.js:1', undefined],
])('%s', (summary, location, title) => expect(titleInWords({ summary, location })).toBe(title))

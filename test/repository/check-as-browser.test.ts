/** The tests of the console refuse what a browser would, and send what it would. */
import { expect, test } from 'vitest'
import { checkAsBrowser } from '../support/check-as-browser.ts'

type Row = readonly [
  attributes: Record<string, string>,
  sent: readonly string[],
  refused: Record<string, string>,
]

test.each<Row>([
  [{ required: '' }, [' ', '0'], { '': 'The browser asks for it first' }],
  [{}, ['', 'anything'], {}],
  [{ minlength: '3' }, ['', 'abc'], { ab: 'it takes at least 3 characters' }],
  // A line break is one character, whatever is sent for it.
  [{ maxlength: '3' }, ['', 'abc', 'a\r\nb'], { abcd: 'it takes 3 characters' }],
  [
    { pattern: '[a-z]+|1' },
    ['', 'abc', '1'],
    { 'a-b': 'it takes [a-z]+|1 only', '11': 'it takes [a-z]+|1 only' },
  ],
  [
    { type: 'email' },
    ['', 'ada@people.test', ' ada@people.test ', "o'hara+x@localhost", 'a..b@x.y'],
    Object.fromEntries(
      ['ada', 'ada@', '@people.test', 'a b@people.test', 'ada@-x.test', 'ada@x..test'].map((text) => [
        text,
        'it takes email addresses only',
      ]),
    ),
  ],
  [
    { type: 'url' },
    ['', 'https://people.test/a?b', 'mailto:ada'],
    { 'people.test': 'it takes whole addresses only', '/a': 'it takes whole addresses only' },
  ],
  [
    { type: 'number' },
    ['', '0', '-7', '1e3', '2.0'],
    Object.fromEntries(
      ['x', '1x', '0x10', '+1', '1.', ' 1', 'Infinity'].map((text) => [text, 'it takes numbers only']),
    ),
  ],
  [{ type: 'number' }, ['1'], { '1.5': 'it goes by steps of 1' }],
  [{ type: 'number', value: '0.5' }, ['1.5'], { '1': 'it goes by steps of 1' }],
  [{ type: 'number', step: 'any' }, ['1.5', '1e-9'], {}],
  [
    { type: 'number', min: '1', max: '5' },
    ['1', '5'],
    { '0': 'it takes 1 or more', '6': 'it takes 5 or less' },
  ],
  [{ type: 'number', min: '0.1', step: '0.1' }, ['0.3', '0.7'], { '0.25': 'it goes by steps of 0.1' }],
  // Nobody could repair these.
  [{ type: 'hidden', required: '' }, [''], {}],
  [{ readonly: '', maxlength: '1' }, ['abc'], {}],
])('of a field with %j a browser sends %j', (attributes, sent, refused) => {
  const check = (text: string) => checkAsBrowser({ name: 'it', attributes }, [text])
  for (const text of sent) expect(() => check(text), text).not.toThrow()
  for (const [text, problem] of Object.entries(refused)) expect(() => check(text), text).toThrow(problem)
})

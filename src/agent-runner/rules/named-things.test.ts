import { expect, test } from 'vitest'
import { namedThings, routeIn } from './named-things.ts'

test.each([
  ['column "shelf_code" does not exist', ['shelf_code']],
  ['relation "orders_old" does not exist', ['orders_old']],
  ["Cannot find module './lib/tax'", ['./lib/tax']],
  ["KeyError: 'returns'", ['returns']],
  ["Cannot read properties of undefined (reading 'percent')", ['percent']],
  ['REPORT_BUCKET is not set', ['REPORT_BUCKET']],
  ['connect ECONNREFUSED 127.0.0.1:5433', ['127.0.0.1:5433', ':5433']],
  ['syntax error at or near "FORM"', ['FORM']],
  ['order 12 failed', []],
  ["KeyError: 'id'", []],
])('%s', (message, names) => {
  expect(namedThings(message)).toEqual(names)
})

test('a route is the path of a request up to the first id', () => {
  expect(routeIn('request timed out: GET /orders/17/lines')).toBe('/orders')
  expect(routeIn('POST /reports/export 500 12 ms')).toBe('/reports/export')
  expect(routeIn('GET /a 500')).toBeNull()
  expect(routeIn('all is well')).toBeNull()
})

import { expect, test } from 'vitest'
import { filesFor } from './source-files.ts'

const FILES = ['src/orders.js', 'src/web/orders.js', 'src/cart.ts', 'index.js', 'app/models/user.py']

test.each([
  ['/srv/shop/src/orders.js', ['src/orders.js']],
  ['file:///srv/shop/src/web/orders.js', ['src/web/orders.js']],
  [String.raw`C:\shop\src\orders.js`, ['src/orders.js']],
  ['./src/orders.js', ['src/orders.js']],
  ['webpack:///./src/orders.js?a1b2', ['src/orders.js']],
  ['/app/dist/cart.js', ['src/cart.ts']],
  ['/usr/src/app/models/user.py', ['app/models/user.py']],
  ['orders.js', ['src/orders.js', 'src/web/orders.js']],
  ['/srv/shop/node_modules/pkg/index.js', []],
  ['/usr/lib/python3.12/user.py', []],
  ['node:internal/process/task_queues', []],
  ['/srv/other/index.js', ['index.js']],
  ['/etc/passwd', []],
])('%s', (path, files) => {
  expect(filesFor(path, FILES)).toEqual(files)
})

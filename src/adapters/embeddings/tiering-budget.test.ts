import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

test("the model's thread asks V8 for V8's own number, which may change with Node", () => {
  const { stdout } = spawnSync(process.execPath, ['--v8-options'], { encoding: 'utf8' })
  const own = /default: --wasm-tiering-budget=(\d+)/.exec(stdout)?.[1]
  const worker = readFileSync(new URL('./built-in-worker.ts', import.meta.url), 'utf8')
  expect(/--wasm-tiering-budget=(\d+)/.exec(worker)?.[1]).toBe(own)
  expect(own).toBeDefined()
})

import { expect, test } from 'vitest'
import { fakeEnvironment } from '../../../test/support/fake-environment.ts'
import type { CommandContext } from '../command-context.ts'
import { showProgress } from './show-progress.ts'
import type { Load } from './upload-file.ts'

test('what a load waits for is shown at a terminal, not executed', () => {
  const environment = fakeEnvironment({ terminal: true })
  const ctx = { environment, settings: { interactive: true, color: true } }
  const load = { state: 'running', phase: 'embedding', waits_for: 'x\u001b[2J', waits_until: null }
  showProgress(ctx as unknown as CommandContext).show(load as unknown as Load)
  expect(environment.err()).toBe('\r\u001b[KWaiting. x\\u001b[2J')
})

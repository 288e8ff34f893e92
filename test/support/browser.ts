/** A real browser for the tests that need one, where the machine has one. */
import { createRequire } from 'node:module'
import { readFileSync } from 'node:fs'
import { chromium, type Browser, type Frame, type Page } from 'playwright-core'
import { findChromium } from '../find-chromium.ts'

export function openBrowser(): Promise<Browser> {
  const executablePath = findChromium()
  if (executablePath === undefined) throw new Error('no Chromium found; set CHROMIUM_PATH')
  // Without a user namespace (root in a container) Chromium refuses to start its sandbox; only our own pages are opened.
  // A frame of another site is a process of its own, as it is for people: the headless shell has to be told.
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--site-per-process'] })
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

type Violation = { id: string; help: string; nodes: { target: unknown; failureSummary?: string }[] }

/** Contrast is judged of what is there at the end of an appearance; what never ends is shown still. */
const END_ANIMATIONS = `for (const one of document.getAnimations()) {
  try { one.finish() } catch { one.cancel() }
}`

/** What axe finds wrong, one line each, in the page or in one of its frames. It enters through the debugger, past the page's own CSP. */
export async function axeFindings(page: Page, frame?: Frame): Promise<string[]> {
  const debug = await page.context().newCDPSession(frame ?? page)
  try {
    await debug.send('Runtime.evaluate', { expression: AXE })
    await debug.send('Runtime.evaluate', { expression: END_ANIMATIONS })
    const { result, exceptionDetails } = await debug.send('Runtime.evaluate', {
      expression:
        'axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => JSON.stringify(violations))',
      awaitPromise: true,
      returnByValue: true,
    })
    if (exceptionDetails) throw new Error(`axe did not run: ${exceptionDetails.text}`)
    const violations = JSON.parse(result.value as string) as Violation[]
    return violations.flatMap(({ id, nodes }) =>
      nodes.map((node) => `${id} at ${JSON.stringify(node.target)}: ${node.failureSummary ?? ''}`),
    )
  } finally {
    await debug.detach()
  }
}

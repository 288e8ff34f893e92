/** Approving a login of the client in a real browser: the pages in every look, and by the keyboard alone. */
import * as http from 'node:http'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { listen, type Listening } from '../../src/boot/listener.ts'
import { listSessions } from '../../src/contracts/sessions.ts'
import { findChromium } from '../find-chromium.ts'
import { axeFindings, openBrowser } from '../support/browser.ts'
import { askCli, startDevice } from '../support/cli-login.ts'
import { freePort } from '../support/free-port.ts'
import { LOOKS } from '../support/looks.ts'
import { makeOrganization, PASSWORD, type Org } from '../support/make.ts'
import { receive, type Receiver } from '../support/receiver.ts'
import { startSystem, type TestSystem } from '../support/system.ts'

describe.skipIf(findChromium() === undefined)(
  'a login of the client in a browser',
  { timeout: 120_000 },
  () => {
    let browser: Browser
    let system: TestSystem
    let listening: Listening
    let base: string
    let org: Org
    let program: Receiver

    beforeAll(async () => {
      const port = await freePort()
      system = await startSystem({ PORT: String(port), SVC_SERVICES: 'api-gateway,auth-service' })
      listening = await listen(system.system)
      base = `http://localhost:${port}`
      org = await makeOrganization(system)
      await makeOrganization(system, org.owner)
      program = await receive(http.createServer())
      browser = await openBrowser()
    }, 60_000)

    afterAll(async () => {
      await browser?.close()
      program?.close()
      await listening?.stop()
      await system?.stop()
    })

    async function signIn(path: string, options: BrowserContextOptions = {}) {
      const context = await browser.newContext(options)
      const page = await context.newPage()
      await page.goto(`${base}${path}`)
      await page.getByLabel('Email').fill(org.owner.email)
      await page.getByLabel('Password').fill(PASSWORD)
      await page.getByRole('button', { name: 'Sign in' }).click()
      return { context, page }
    }

    const pushed = async () => {
      const { body } = await askCli(system, 'par', {
        client_name: 'svc 1.0.0',
        host_name: 'laptop',
        response_type: 'code',
        redirect_uri: `http://127.0.0.1:${program.port}/callback`,
        state: 'of the client',
        code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
        code_challenge_method: 'S256',
      })
      return new URL(String(body['authorization_uri'])).pathname
    }

    test.each(Object.entries(LOOKS))(
      '%s: no page has a finding or scrolls sideways',
      async (_look, options) => {
        const findings: string[] = []
        const lookAt = async (page: Page, what: string) => {
          const extra = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
          if (extra > 0) findings.push(`${what} is ${extra} pixels too wide`)
          findings.push(...(await axeFindings(page)).map((finding) => `${what}: ${finding}`))
        }
        const { context, page } = await signIn('/auth/device', options)
        await page.getByLabel('Code').waitFor()
        await lookAt(page, 'the form')
        await page.getByLabel('Code').fill('BBBB-BBBB')
        await page.getByRole('button', { name: 'Continue' }).click()
        await page.getByText('This code is not valid').waitFor()
        await lookAt(page, 'a refused code')
        const { userCode } = await startDevice(system)
        await page.getByLabel('Code').fill(userCode)
        await page.getByRole('button', { name: 'Continue' }).click()
        await page.getByRole('button', { name: 'Allow' }).waitFor()
        await lookAt(page, 'a device')
        await page.getByLabel(org.name).check()
        await page.getByRole('button', { name: 'Allow' }).click()
        await page.getByText('Device signed in').waitFor()
        await lookAt(page, 'what was approved')
        await page.goto(`${base}${await pushed()}`)
        await page.getByRole('button', { name: 'Allow' }).waitFor()
        await lookAt(page, 'the browser of this machine')
        await page.goto(`${base}/auth/cli/unknown`)
        await lookAt(page, 'an unknown request')
        expect(findings).toEqual([])
        await context.close()
      },
    )

    test('by the keyboard alone, back to the program', async () => {
      const { context, page } = await signIn(await pushed())
      await page.getByRole('button', { name: 'Allow' }).waitFor()
      const walked: string[] = []
      while (walked.at(-1) !== 'approve' && walked.length < 10) {
        await page.keyboard.press('Tab')
        walked.push(
          await page.evaluate(() => {
            const { activeElement: at } = document
            return at?.getAttribute('type') === 'radio' ? 'organization' : (at?.getAttribute('value') ?? '')
          }),
        )
        if (walked.at(-1) === 'organization') await page.keyboard.press('Space')
      }
      expect(walked.filter((value) => value !== '')).toEqual(['organization', 'approve'])
      const [answer] = await Promise.all([program.next(), page.keyboard.press('Enter')])
      expect([answer.pathname, answer.searchParams.get('state')]).toEqual(['/callback', 'of the client'])
      expect((await org.owner.call(listSessions, {})).sessions[0]).toMatchObject({
        device: 'svc 1.0.0 on laptop',
      })
      await context.close()
    })
  },
)

import { describe, expect, test } from 'vitest'
import { signedIn } from '../../../../test/support/console-client.ts'
import { seed } from '../../../../test/support/fake-gateway.ts'
import { span } from './attempts-timeline.ts'
import { csvLine } from '../../csv.ts'

const PATH = '/console/deliveries'
const empty = async () => {
  const client = await signedIn()
  const { data, ...make } = client.gateway.notifications
  return { ...client, data, make }
}
const seeded = async () => {
  const client = await empty()
  seed(client.gateway)
  return client
}
const textOf = (page: string): string =>
  page
    .replaceAll('<wbr />', '')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
/** The list itself: the chart holds a table too. */
const rowsOf = (page: string): string[] =>
  [...(page.split('Deliveries, newest first')[1] ?? '').matchAll(/<tr role="row">.*?<\/tr>/gs)]
    .map(([row]) => textOf(row))
    .slice(1)

describe('the list of deliveries', () => {
  test('has a row for everything, also for what nobody was told of', async () => {
    const { read, make } = await empty()
    make.addDelivery('deploy.failed', 0.1)
    make.addDelivery('deploy.failed', 0.2, {
      channel: null,
      destination: null,
      state: 'dropped',
      reason: 'matched_nobody',
      attempts: 0,
      http_status: null,
      duration_ms: null,
    })
    make.addDelivery('deploy.failed', 0.3, {
      state: 'failed',
      reason: 'outcome_unknown',
      unconfirmed: true,
      http_status: null,
    })
    const [sent, emptyList, unconfirmed] = rowsOf(await read(PATH))
    expect(sent).toContain(
      '15 Nov 2026, 09:36 UTC , deploy.failed deploy.failed billing · tickets/tkt_1 Operations desk Sent HTTP 204 1 84 ms',
    )
    expect(emptyList).toContain('No recipient Not sent No recipient None')
    expect(unconfirmed).toContain('Unconfirmed No response')
  })

  test.each([
    ['type=deploy.*', (row: string) => row.includes('deploy.failed')],
    ['state=dropped', (row: string) => row.includes('Not sent')],
    ['reason=no_chat_account', (row: string) => row.includes('No chat account')],
    ['channel=chat', (row: string) => row.includes('#tickets')],
    ['app=billing', (row: string) => row.includes('billing')],
    ['from=2026-11-10&to=2026-11-11', (row: string) => /1[01] Nov 2026/.test(row)],
  ])('is filtered by %s', async (query, fits) => {
    const { read } = await seeded()
    const rows = rowsOf(await read(`${PATH}?${query}`))
    expect(rows.length).toBeGreaterThan(0)
    expect(rows.filter((row) => !fits(row))).toEqual([])
  })

  test('is filtered by integration and by event', async () => {
    const { read, data } = await seeded()
    const tickets = data.integrations.find(({ name }) => name === '#tickets')!
    const rows = rowsOf(await read(`${PATH}?integration=${tickets.id}`))
    expect(rows.length).toBeGreaterThan(0)
    expect(rows.every((row) => row.includes('#tickets'))).toBe(true)
    expect(rowsOf(await read(`${PATH}?event=${data.deliveries[5]!.event_id}`))).toHaveLength(1)
    tickets.id = 'int_gone'
    const gone = await read(`${PATH}?integration=${'int_'.padEnd(29, '0')}`)
    expect(gone).toContain('Removed integration')
    expect(gone).toContain('No deliveries found')
  })

  test('nonsense in the address is left out, and typed nonsense is said', async () => {
    const { get } = await seeded()
    const response = await get(
      `${PATH}?state=x&reason=y&channel=z&integration=q&from=0&type=A%20B&event=evt_1`,
    )
    expect(response.status).toBe(200)
    const page = await response.text()
    expect(rowsOf(page)).toHaveLength(50)
    expect(page).toContain('not a valid event type, ignored')
    expect(page).toContain('not a valid event ID, ignored')
  })

  test('pages keep the filters, and so does the export', async () => {
    const { read } = await seeded()
    const page = await read(`${PATH}?to=2026-11-15`)
    const next = /href="([^"]+)"[^>]*>Next page/.exec(page)?.[1]?.replaceAll('&amp;', '&') ?? ''
    expect(next).toContain('to=2026-11-15&cursor=')
    const second = await read(next)
    expect(rowsOf(second)).toHaveLength(1)
    expect(second).toContain('href="/console/deliveries.csv?to=2026-11-15"')
  })

  test('counts and draws how delivery does, in words as well', async () => {
    const page = await (await seeded()).read(PATH)
    const words = textOf(page)
    expect(words).toContain('Arrived in 24 hours 412 of 427 96%')
    expect(words).toContain('Not arrived in 24 hours 15 9 failed, 2 unconfirmed, 3 retrying, 1 not sent')
    expect(words).toContain('p95 latency 1.8 s')
    expect(page).toMatch(
      /aria-label="Deliveries per day, 17 Oct to 15 Nov: \d+ sent, \d+ failed, \d+ not sent, 5 pending\."/,
    )
    expect(page).not.toContain('style=')
  })

  test('the headline counts integrations, and one that never worked is not hidden by one that always does', async () => {
    const { read, make } = await empty()
    make.addIntegration('webhook', 'Busy')
    for (const name of ['One', 'Two', 'Three']) {
      make.addIntegration('webhook', name, { last_success_at: null, failing_since: make.daysAgo(1) })
      make.addDelivery('deploy.failed', 0.2, {
        destination: name,
        state: 'retrying',
        reason: 'server_error',
        http_status: 500,
      })
    }
    make.addIntegration('webhook', 'Unused', { last_success_at: null })
    for (let n = 0; n < 57; n += 1) make.addDelivery('deploy.failed', 0.1, { destination: 'Busy' })
    const words = textOf(await read(PATH))
    expect(words).toContain('Working integrations 1 of 4 3 failing (3 never worked)')
    const health = words.slice(words.indexOf('Last failure'))
    expect(health).toMatch(/One Never worked 0 arrived 1 not .* Never HTTP 500/)
    expect(health.indexOf('One')).toBeLessThan(health.indexOf('Busy'))
    expect(health).toMatch(/Busy Working 57 arrived/)
  })

  test('one that only asks to slow down, or is never sent to for want of a mail server, does not work', async () => {
    const { read, make } = await empty()
    for (const [name, row] of [
      ['Slow', { state: 'retrying', reason: 'rate_limited', http_status: 429 }],
      ['Desk', { state: 'dropped', reason: 'no_mail_server', http_status: null }],
    ] as const) {
      make.addIntegration('webhook', name)
      make.addDelivery('deploy.failed', 0.2, { destination: name, ...row })
    }
    make.addIntegration('webhook', 'Fine')
    make.addDelivery('deploy.failed', 0.2, { destination: 'Fine' })
    const words = textOf(await read(PATH))
    expect(words).toContain('Working integrations 1 of 3 2 failing')
    for (const name of ['Slow', 'Desk']) expect(words).toMatch(new RegExp(`${name} Failing 0 arrived 1 not`))
    expect(words).toMatch(/Fine Working 1 arrived/)
  })

  test('what has not arrived in 24 hours is counted, and listed by a link that begins then', async () => {
    const { read, make, data } = await empty()
    make.addIntegration('webhook', 'Receiver')
    for (const days of [0.1, 0.9, 1.1, 1.4]) {
      make.addDelivery('deploy.failed', days, { destination: 'Receiver', state: 'failed', reason: 'gave_up' })
    }
    data.days.push({ day: '2026-11-15', sent: 0, failed: 1, dropped: 0, open: 0 })
    const page = await read(PATH)
    const link = /href="([^"]*state=missed[^"]*)"/.exec(page)?.[1]?.replaceAll('&amp;', '&') ?? ''
    expect(link).toBe(`${PATH}?state=missed&from=2026-11-14T12:00:00.000Z`)
    const listed = await read(link)
    expect(rowsOf(listed)).toHaveLength(2)
    expect(listed.replaceAll(/\s+/g, ' ')).toContain('type="datetime-local" value="2026-11-14T12:00"')
    // As the field sends it again.
    expect(rowsOf(await read(`${PATH}?state=missed&from=2026-11-14T12%3A00`))).toHaveLength(2)
  })

  test('filtered, and on a further page, nothing is counted that is not shown', async () => {
    const { read, data, gateway } = await seeded()
    const seenBy = async (path: string) => {
      gateway.data.seen.length = 0
      await read(path)
      return ['summarizeDeliveries', 'listIntegrationHealth'].filter((name) =>
        gateway.data.seen.includes(name),
      )
    }
    expect(await seenBy(PATH)).toEqual(['summarizeDeliveries'])
    expect(await seenBy(`${PATH}?state=failed`)).toEqual([])
    expect(await seenBy(`${PATH}?integration=${data.integrations[0]!.id}`)).toEqual(['listIntegrationHealth'])
  })

  test('what has not arrived is one filter', async () => {
    const { read } = await seeded()
    const rows = rowsOf(await read(`${PATH}?state=missed`))
    expect(rows.length).toBeGreaterThan(2)
    expect(rows.filter((row) => / Sent HTTP/.test(row))).toEqual([])
  })

  test('of one integration it says what to do, tests it, and recovers what it missed', async () => {
    const { read, post, data } = await seeded()
    const nightly = data.integrations.find(({ name }) => name === 'Nightly collector')!
    const page = await read(`${PATH}?integration=${nightly.id}`)
    const words = textOf(page)
    expect(words).toContain('Recent deliveries failed and are being retried.')
    expect(words).toContain('Last failure HTTP 500')
    // With the last success: what failed first is older than its first attempt.
    expect(page).toContain(`value="${nightly.last_success_at!.slice(0, 16)}"`)
    await post(`/console/integrations/${nightly.id}/recover`, {
      since: '2026-11-15T02:24',
      back: `${PATH}?integration=${nightly.id}`,
    })
    expect(data.recoveries[0]).toMatchObject({ since: '2026-11-15T02:24:00.000Z' })
    const tested = await post(`${PATH}/test`, { integration: nightly.id })
    const result = tested.headers.get('location') ?? ''
    expect(result).toMatch(/^\/console\/deliveries\/dlv_\w+\?integration=int_\w+&after=0$/)
    expect(textOf(await read(result))).toContain('It arrived Sent The receiver answered 204 after 84 ms.')
    const archive = data.integrations.find(({ name }) => name === 'Archive')!
    const back = `/console/integrations/${archive.id}`
    const refused = await post(`${PATH}/test`, { integration: archive.id, back })
    expect(refused.headers.get('location')).toBe(back)
    expect(await read(back)).toContain('The integration is not active.')
  })

  test('live, it is the newest page and nothing else, and a part of it for the script', async () => {
    const { read } = await seeded()
    const page = await read(`${PATH}?live=true&state=failed`)
    expect(page).toContain('data-refresh="/console/deliveries?live=true&amp;state=failed&amp;part=list"')
    expect(page).not.toContain('Working integrations')
    const part = await read(`${PATH}?live=true&state=failed&part=list`)
    expect(part).toMatch(/^<table/)
    expect(rowsOf(part)).toEqual(rowsOf(page))
  })

  test('empty, it says how to see something', async () => {
    const page = await (await empty()).read(PATH)
    expect(page).toContain('No deliveries yet')
    expect(page).not.toContain('role="img"')
  })

  test('what failed in a span of time is replayed, unconfirmed ones only when ticked', async () => {
    const { post, read, data } = await seeded()
    await post(`${PATH}/replay`, { from: '2026-11-14T22:30', to: '', integration: '' })
    expect(data.replayed).toEqual([{ from: '2026-11-14T22:30:00.000Z', include_unconfirmed: false }])
    expect(await read(PATH)).toContain('7 deliveries queued again.')
    await post(`${PATH}/replay`, { from: '2026-11-14T22:30', to: '2026-11-15T01:00', unconfirmed: 'yes' })
    expect(data.replayed[1]).toMatchObject({ to: '2026-11-15T01:00:00.000Z', include_unconfirmed: true })
    await post(`${PATH}/replay`, { from: 'yesterday' })
    expect(await read(PATH)).toContain('Enter a start date and time')
    expect(data.replayed).toHaveLength(2)
  })
})

describe('one delivery', () => {
  test('shows what was sent and every attempt, drawn and in words', async () => {
    const { read, data } = await seeded()
    const one = data.deliveries.find(({ state }) => state === 'retrying')!
    const page = await read(`${PATH}/${one.id}`)
    expect(page).toContain(
      'aria-label="4 attempts. 1: failed with status 503; 2: failed; 3: failed with status 503; 4: failed with status 500. Another attempt follows."',
    )
    const words = textOf(page)
    expect(words).toContain('#1 15 Nov 2026, 07:12 UTC 503 190 ms Failed Server error')
    expect(words).toContain(`&quot;id&quot;: &quot;${one.id}&quot;`)
    expect(words).toContain('Next attempt 15 Nov 2026, 13:12 UTC')
    expect(words).toContain('X-Svc-Signature: v1=…')
    expect(words).not.toContain('Replay this delivery?')
  })

  test('unconfirmed is explained, and replaying it says that it may arrive twice', async () => {
    const { read, post, data } = await seeded()
    const one = data.deliveries.find(({ unconfirmed }) => unconfirmed)!
    const words = textOf(await read(`${PATH}/${one.id}`))
    expect(words).toContain('It may have arrived: no answer was received')
    expect(words).toContain('It may already have arrived, so it may arrive twice.')
    const response = await post(`${PATH}/${one.id}/replay`)
    const again = response.headers.get('location') ?? ''
    expect(again).not.toContain(one.id)
    const page = textOf(await read(again))
    expect(page).toContain('Replayed. This page shows the new delivery.')
    expect(page).toContain(`Replay of ${one.id}`)
  })

  test('one that arrived is replayed with the plain truth, one for a gone destination not at all', async () => {
    const { read, post, make } = await empty()
    const sent = make.addDelivery('deploy.failed', 1)
    expect(textOf(await read(`${PATH}/${sent.id}`))).toContain('so it will arrive twice')
    const gone = make.addDelivery('deploy.failed', 1, {
      state: 'failed',
      reason: 'gave_up',
      destination: 'Gone',
    })
    const response = await post(`${PATH}/${gone.id}/replay`)
    expect(await read(response.headers.get('location') ?? '')).toContain('The destination is gone.')
  })

  test('a digest says how many went with it, and one for nobody cannot be replayed', async () => {
    const { read, make } = await empty()
    const digest = make.addDelivery('deploy.failed', 1, { digest_of: 3, timing: 'hourly' })
    expect(textOf(await read(`${PATH}/${digest.id}`))).toContain('Digest with 2 others')
    const emptyList = make.addDelivery('deploy.failed', 1, {
      channel: null,
      destination: null,
      state: 'dropped',
    })
    expect(await read(`${PATH}/${emptyList.id}`)).not.toContain('Replay')
  })

  test('one in progress is retried at once; what waits for a digest and what is settled is not', async () => {
    const { read, post, make, data } = await empty()
    const open = make.addDelivery('deploy.failed', 0.1, { state: 'retrying', reason: 'server_error' })
    const digest = make.addDelivery('deploy.failed', 0.1, { state: 'waiting', timing: 'hourly' })
    const page = await read(`${PATH}/${open.id}`)
    expect(textOf(page)).toContain('Retry now')
    expect(page).not.toContain('Replay this delivery?')
    const retried = await post(`${PATH}/${open.id}/retry`)
    // The page waits for the attempt after the one that is known.
    expect(retried.headers.get('location')).toBe(`${PATH}/${open.id}?after=1`)
    expect(data.retried).toEqual([open.id])
    // And the list beside it stays as it was.
    const listed = `${PATH}/${open.id}/retry?state=retrying`
    expect(await read(`${PATH}/${open.id}?state=retrying`)).toContain(`action="${listed}"`)
    expect((await post(listed)).headers.get('location')).toBe(`${PATH}/${open.id}?state=retrying&after=1`)
    expect(await read(`${PATH}/${digest.id}`)).not.toContain('Retry now')
    const sent = make.addDelivery('deploy.failed', 0.1)
    expect(await read(`${PATH}/${sent.id}`)).not.toContain('Retry now')
    await post(`${PATH}/${sent.id}/retry`)
    expect(await read(`${PATH}/${sent.id}`)).toContain('This delivery is not in progress')
  })

  test('a test is offered where it would be sent, and nowhere else', async () => {
    const { read, make } = await empty()
    const integration = make.addIntegration('webhook', 'Receiver')
    const one = make.addDelivery('deploy.failed', 0.1, {
      destination: 'Receiver',
      integration_id: integration.id,
    })
    expect(await read(`${PATH}/${one.id}`)).toContain('>Send test</button>')
    Object.assign(integration, { state: 'off' })
    expect(await read(`${PATH}/${one.id}`)).not.toContain('>Send test</button>')
    Object.assign(one, { integration_id: 'int_'.padEnd(29, '0') })
    expect(await read(`${PATH}/${one.id}`)).not.toContain('>Send test</button>')
  })

  test('what the receiver answered is shown as text, and with which it was sent', async () => {
    const { read, make } = await empty()
    const one = make.addDelivery('deploy.failed', 0.1)
    Object.assign(one.attempts_made[0]!, {
      response: '<script>alert(1)</script> no',
      carried_by: 'msg_0mwhkcyh5nlh1pqqssy5gj19q',
    })
    const page = await read(`${PATH}/${one.id}`)
    expect(page).toContain('&lt;script&gt;alert(1)&lt;/script&gt; no')
    expect(page).not.toContain('<script>alert')
    expect(textOf(page)).toContain(
      'was sent together with others, in the POST of msg_0mwhkcyh5nlh1pqqssy5gj19q',
    )
  })

  test('stands beside the list it was chosen from, and going on keeps the filters', async () => {
    const { read, data } = await seeded()
    const [one, next] = data.deliveries.filter(({ state }) => state === 'failed')
    const page = await read(`${PATH}/${one!.id}?state=failed`)
    const picks = /<nav class="picks".*?<\/nav>/s.exec(page)?.[0] ?? ''
    expect(picks).toMatch(new RegExp(`${one!.id}\\?state=failed#delivery" aria-current="true"`))
    expect(picks).toContain(`${PATH}/${next!.id}?state=failed#delivery`)
    expect(picks).not.toContain(data.deliveries.find(({ state }) => state === 'sent')!.id)
  })

  test('says first why it failed, in a sentence with the answer below it', async () => {
    const { read, data } = await seeded()
    const one = data.deliveries.find(({ reason }) => reason === 'gave_up')!
    const words = textOf(await read(`${PATH}/${one.id}`))
    expect(words).toContain(
      'Why it failed Failed The receiver returned an error. It answered 503 after 660 ms.',
    )
    expect(words).toContain('Fix the receiver, then replay this delivery')
    expect(words).toContain('Response to attempt #10 &lt;h1&gt;Service temporarily unavailable')
  })

  test('unknown ids and ids of another shape are not there', async () => {
    const { get, gateway } = await empty()
    expect((await get(`${PATH}/${gateway.id('dlv')}`)).status).toBe(404)
    expect((await get(`${PATH}/..%2Fadmin`)).status).toBe(404)
  })
})

test.each([
  ['2026-11-15T12:00:00Z', '2026-11-15T12:00:05Z', '5s'],
  ['2026-11-15T12:00:00Z', '2026-11-15T12:00:00Z', '0s'],
  ['2026-11-15T12:00:00Z', '2026-11-15T12:29:50Z', '30m'],
  ['2026-11-15T12:00:00Z', '2026-11-15T22:00:00Z', '10h'],
  ['2026-11-15T12:00:00Z', '2026-11-16T12:00:00Z', '1d'],
])('from %s to %s is %s', (from, to, words) => expect(span(from, to)).toBe(words))

describe('the export', () => {
  test('is a file of everything the filters leave, page by page, of one organization', async () => {
    const { get, make, data, gateway } = await empty()
    for (let number = 0; number < 450; number += 1) {
      make.addDelivery(number % 2 === 0 ? 'deploy.failed' : 'pipeline.run.failed', number / 100)
    }
    const response = await get(`${PATH}.csv?type=deploy.failed`)
    expect(response.headers.get('content-type')).toBe('text/csv; charset=utf-8')
    expect(response.headers.get('content-disposition')).toBe(
      'attachment; filename="deliveries-2026-11-15.csv"',
    )
    expect(response.headers.get('cache-control')).toBe('no-store')
    const lines = (await response.text()).trim().split('\r\n')
    expect(lines[0]).toContain('"created_at","id","event_id","type"')
    expect(lines).toHaveLength(226)
    expect(new Set(lines).size).toBe(226)
    expect(data.organizationsAsked).toEqual([gateway.org.id, gateway.org.id])
  })

  test('asks for no more pages than are taken', async () => {
    const { get, make, data } = await empty()
    for (let number = 0; number < 900; number += 1) make.addDelivery('deploy.failed', number / 100)
    const response = await get(`${PATH}.csv`)
    await response.body?.cancel()
    expect(data.organizationsAsked.length).toBeLessThan(4)
  })

  /** Spreadsheets run a cell that begins so, and names of people are among the values. */
  test.each(['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', '＝1'])('%j is text, not a formula', (cell) => {
    expect(csvLine([cell])).toBe(`"'${cell}"\r\n`)
  })

  test('quotes, commas and line breaks stay in their cell', () => {
    expect(csvLine(['a"b', 'c,d', 'e\nf', null, 7, true])).toBe('"a""b","c,d","e\nf",,7,true\r\n')
  })

  test('a hostile name arrives as text', async () => {
    const { read, make } = await empty()
    make.addDelivery('deploy.failed', 1, { destination: '=HYPERLINK("http://evil.example","x")' })
    expect(await read(`${PATH}.csv`)).toContain(`"'=HYPERLINK(""http://evil.example"",""x"")"`)
  })
})

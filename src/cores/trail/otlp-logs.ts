/** Events as OTLP logs in JSON, each with the event of OCSF as its body. */
import type { OutputOf } from '../verb.ts'

type Page = Pick<OutputOf<'streamTrail'>, 'events' | 'seals'>

const SEVERITY_INFO = 9

const text = (key: string, value: string) => ({ key, value: { stringValue: value } })

export const otlpLogs = (orgId: string, { events, seals }: Page): string =>
  JSON.stringify({
    resourceLogs: [
      {
        resource: { attributes: [text('service.name', 'svc'), text('svc.organization', orgId)] },
        scopeLogs: [
          {
            scope: { name: 'svc.trail' },
            logRecords: [
              ...events.map((event) => ({
                // Nanoseconds, which are more than a number holds.
                timeUnixNano: `${event.time}000000`,
                severityNumber: SEVERITY_INFO,
                body: { stringValue: JSON.stringify(event) },
                attributes: [
                  text('event.name', 'svc.trail.event'),
                  text('log.record.uid', event.metadata.uid),
                ],
              })),
              ...seals.map((seal) => ({
                severityNumber: SEVERITY_INFO,
                body: { stringValue: JSON.stringify(seal) },
                attributes: [text('event.name', 'svc.trail.seal')],
              })),
            ],
          },
        ],
      },
    ],
  })

import pino from 'pino'

export const log = pino({ base: { app: 'ferry-desk' } })

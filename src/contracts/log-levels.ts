/** The levels of log lines, from the least to the most severe. Plain constants: the client loads this file and no zod. */
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

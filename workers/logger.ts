import { type DestinationStream, type Logger, pino } from 'pino'

/** The process's logger: one JSON object per line, with the field names that Karpenter's logs use. */
export function createLogger(level: string, destination: DestinationStream = pino.destination(1)): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    destination,
  )
}

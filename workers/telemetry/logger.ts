import { type DestinationStream, type Logger, pino } from 'pino'
import { printableLines } from '../../core/values/printable.ts'

/** The process's logger: one JSON object per line, with the field names that Karpenter's logs use. What a terminal would obey is escaped. */
export function createLogger(level: string, destination: DestinationStream = pino.destination(1)): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      hooks: { streamWrite: printableLines },
    },
    destination,
  )
}

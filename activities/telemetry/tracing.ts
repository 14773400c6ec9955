export type SpanAttributes = Readonly<Record<string, string | number | undefined>>

export interface SpanOptions {
  /** W3C `traceparent` of the parent span. Unset: the span that runs now; if there is none, the span begins a trace. */
  readonly parent?: string | undefined
  readonly attributes?: SpanAttributes
  /** Start in epoch ms, where it is earlier than now. */
  readonly startMs?: number
}

/** A span that is over when it is recorded. */
interface PastSpan extends SpanOptions {
  readonly startMs: number
  /** Its own id, where others knew it before: 16 hexadecimal digits. */
  readonly spanId?: string
  readonly error?: string | undefined
}

/** Spans of activities. Callers need not know whether any are recorded. */
export interface Tracing {
  readonly isOn: boolean
  /** Runs `work` as a span, which ends with it and fails with it. `addAttributes` adds to its attributes. */
  span<T>(
    name: string,
    options: SpanOptions,
    work: (addAttributes: (attributes: SpanAttributes) => void) => Promise<T>,
  ): Promise<T>
  /** Records a span that ends now. */
  past(name: string, span: PastSpan): void
  /** W3C `traceparent` of the span that runs now; undefined if none is recorded. */
  current(): string | undefined
  /** Sends the remaining spans. */
  stop(): Promise<void>
}

export const noTracing: Tracing = {
  isOn: false,
  span: (_name, _options, work) => work(() => {}),
  past() {},
  current: () => undefined,
  stop: async () => {},
}

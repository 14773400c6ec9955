/** What a span says of itself. */
export type SpanAttributes = Readonly<Record<string, string | number | undefined>>

export interface SpanOptions {
  /** W3C `traceparent` of what it is a part of. Absent: of the span that runs now; if there is none it begins a trace. */
  readonly parent?: string | undefined
  readonly attributes?: SpanAttributes
  /** Epoch ms, where it began before now. */
  readonly startMs?: number
}

/** A span that is over when it is reported. */
interface PastSpan extends SpanOptions {
  readonly startMs: number
  /** Its own id, where others were told of it before: 16 hexadecimal digits. */
  readonly spanId?: string
  /** Why it failed. */
  readonly error?: string | undefined
}

/** Spans as activities make them. Nobody who makes one has to know whether any are recorded. */
export interface Tracing {
  readonly isOn: boolean
  /** Does `work` as a span, which ends with it and fails with it. `addAttributes` adds to its attributes. */
  span<T>(
    name: string,
    options: SpanOptions,
    work: (addAttributes: (attributes: SpanAttributes) => void) => Promise<T>,
  ): Promise<T>
  /** Records a span that ends now. */
  past(name: string, span: PastSpan): void
  /** W3C `traceparent` of the span that runs now; undefined: none is recorded. */
  current(): string | undefined
  /** Sends what is left. */
  stop(): Promise<void>
}

/** No spans. */
export const noTracing: Tracing = {
  isOn: false,
  span: (_name, _options, work) => work(() => {}),
  past() {},
  current: () => undefined,
  stop: async () => {},
}

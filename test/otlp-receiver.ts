import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import protobuf from 'protobufjs'

export interface ReceivedSpan {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  /** Empty: it begins its trace. */
  readonly parentSpanId: string
  readonly startMs: number
  readonly endMs: number
  readonly attributes: Readonly<Record<string, string | number>>
  /** What it failed with. */
  readonly error?: string
  /** The process's own, such as `service.name`. */
  readonly resource: Readonly<Record<string, string | number>>
}

/** As much of OTLP's messages as tests look at. */
const { root } = protobuf.parse(`
  syntax = "proto3";
  message Request { repeated ResourceSpans resource_spans = 1; }
  message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
  message Resource { repeated KeyValue attributes = 1; }
  message ScopeSpans { repeated Span spans = 2; }
  message Span {
    bytes trace_id = 1; bytes span_id = 2; bytes parent_span_id = 4; string name = 5;
    fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8;
    repeated KeyValue attributes = 9; Status status = 15;
  }
  message Status { string message = 2; int32 code = 3; }
  message KeyValue { string key = 1; AnyValue value = 2; }
  message AnyValue { string string_value = 1; int64 int_value = 3; double double_value = 4; }
`)
const request = root.lookupType('Request')
const errorCode = 2

interface KeyValue {
  readonly key: string
  readonly value?: { readonly stringValue?: string; readonly intValue?: string; readonly doubleValue?: number }
}

interface Decoded {
  readonly resourceSpans?: readonly {
    readonly resource?: { readonly attributes?: readonly KeyValue[] }
    readonly scopeSpans?: readonly { readonly spans?: readonly DecodedSpan[] }[]
  }[]
}

interface DecodedSpan {
  readonly name: string
  readonly traceId: Buffer
  readonly spanId: Buffer
  readonly parentSpanId?: Buffer
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes?: readonly KeyValue[]
  readonly status?: { readonly code?: number; readonly message?: string }
}

/** A collector of traces: takes OTLP over HTTP and keeps what comes. */
export class OtlpReceiver {
  readonly spans: ReceivedSpan[] = []
  readonly #server = createServer((incoming, answer) => {
    void buffer(incoming).then((body) => {
      if (incoming.url === '/v1/traces') this.spans.push(...decode(body))
      answer.writeHead(200, { 'content-type': 'application/x-protobuf' }).end()
    })
  })

  /** Listens on a free port of this machine. */
  static async start(): Promise<OtlpReceiver> {
    const receiver = new OtlpReceiver()
    receiver.#server.listen(0, '127.0.0.1')
    await once(receiver.#server, 'listening')
    return receiver
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  stop(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}

function decode(body: Buffer): readonly ReceivedSpan[] {
  const message = request.toObject(request.decode(body), { longs: String, bytes: Buffer }) as Decoded
  return (message.resourceSpans ?? []).flatMap(({ resource, scopeSpans = [] }) =>
    scopeSpans.flatMap(({ spans = [] }) => spans.map((span) => received(span, valuesOf(resource?.attributes)))),
  )
}

function received(span: DecodedSpan, resource: ReceivedSpan['resource']): ReceivedSpan {
  const ms = (nanoseconds: string) => Number(BigInt(nanoseconds) / 1_000_000n)
  return {
    name: span.name,
    traceId: span.traceId.toString('hex'),
    spanId: span.spanId.toString('hex'),
    parentSpanId: span.parentSpanId?.toString('hex') ?? '',
    startMs: ms(span.startTimeUnixNano),
    endMs: ms(span.endTimeUnixNano),
    attributes: valuesOf(span.attributes),
    ...(span.status?.code === errorCode ? { error: span.status.message ?? '' } : {}),
    resource,
  }
}

function valuesOf(attributes: readonly KeyValue[] = []): Readonly<Record<string, string | number>> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [key, value?.stringValue ?? Number(value?.intValue ?? value?.doubleValue)]),
  )
}

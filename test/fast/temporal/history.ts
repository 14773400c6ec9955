import type { temporal } from '@temporalio/proto'
import proto from '@temporalio/proto'
import { payloadOf, timestamp, valueOf } from './protocol.ts'

const { EventType } = proto.temporal.api.enums.v1

export type HistoryEvent = temporal.api.history.v1.IHistoryEvent
type AttributesKey = Extract<keyof HistoryEvent, `${string}EventAttributes`>
/** The attributes of one event, under the name that they have in a history. It says which type of event it is. */
export type Attributes = Pick<HistoryEvent, AttributesKey>

/** `timerStartedEventAttributes` -> `TIMER_STARTED`. */
function typeOf(attributes: Attributes): string {
  const [key = ''] = Object.keys(attributes)
  return key
    .replace(/EventAttributes$/, '')
    .replace(/[A-Z]/g, (letter) => `_${letter}`)
    .toUpperCase()
}

/** The events of a run as the server keeps them: a replay of it by Core judges the simulated server. */
export class History {
  readonly events: HistoryEvent[] = []
  /** An estimate, as the size that suggests a new run. */
  bytes = 0

  get length(): number {
    return this.events.length
  }

  /** Adds an event. Returns its id. */
  add(atMs: number, attributes: Attributes, userMetadata?: HistoryEvent['userMetadata']): number {
    const type = typeOf(attributes)
    const eventId = this.events.length + 1
    this.events.push({
      eventId: eventId as never,
      eventTime: timestamp(atMs),
      eventType: EventType[`EVENT_TYPE_${type}` as keyof typeof EventType],
      taskId: (1_000_000 + eventId) as never,
      ...(userMetadata == null ? {} : { userMetadata }),
      ...attributes,
    })
    return eventId
  }

  /** Events of one type, as their attributes. */
  of<K extends AttributesKey>(key: K): readonly NonNullable<HistoryEvent[K]>[] {
    return this.events.flatMap((event) => event[key] ?? [])
  }

  /** Takes back the last events: those of a workflow task that left no trace. */
  takeBack(count: number): void {
    this.events.splice(-count)
  }

  /** Names of events, for a failing test to print. */
  types(): readonly string[] {
    return this.events.map((event) => {
      const { [0]: key = '' } = Object.keys(event).filter((name) => name.endsWith('EventAttributes'))
      return typeOf({ [key]: {} })
    })
  }

  /** The ids of the patches whose markers it has, as the attribute `TemporalChangeVersion` lists them. */
  patches(): readonly string[] {
    return this.attribute('TemporalChangeVersion').flatMap((value) => value as string[])
  }

  /** The values that a search attribute got, in order. */
  attribute(name: string): readonly unknown[] {
    return this.of('upsertWorkflowSearchAttributesEventAttributes').flatMap(({ searchAttributes }) => {
      const value = searchAttributes?.indexedFields?.[name]
      return value === undefined ? [] : [valueOf(value)]
    })
  }

  /** The whole as Temporal exports it. */
  exported(): temporal.api.history.v1.IHistory {
    return proto.temporal.api.history.v1.History.fromObject({ events: this.events })
  }
}

/** A list of keywords as a search attribute. */
export function keywordList(values: readonly string[]) {
  const payload = payloadOf([...new Set(values)])
  return { ...payload, metadata: { ...payload.metadata, type: new TextEncoder().encode('KeywordList') } }
}

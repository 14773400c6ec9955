import type { KubernetesClient } from './client.ts'
import { readConfigMap, writeConfigMap } from './config-map.ts'
import type { LoopName, Pause } from './contract.ts'

const configMapName = 'joiner-pauses'

interface PauseDeps {
  readonly client: KubernetesClient
  readonly namespace: string
}

/**
 * The pause of a loop, read from the API server and not from a cache: it decides whether the next write may happen.
 * An entry that cannot be read as a pause counts as one without end, since a pause is a brake.
 */
export async function readPause(
  { client, namespace }: PauseDeps,
  loop: LoopName,
  now: number,
): Promise<Pause | undefined> {
  const text = (await readConfigMap(client, { name: configMapName, namespace }))?.[loop]
  if (text === undefined) return undefined
  const pause = parsePause(text)
  return pause.untilMs !== undefined && pause.untilMs <= now ? undefined : pause
}

function parsePause(text: string): Pause {
  try {
    const value = JSON.parse(text) as { reason?: unknown; since?: unknown; until?: unknown }
    const sinceMs = typeof value.since === 'string' ? Date.parse(value.since) : Number.NaN
    const untilMs = typeof value.until === 'string' ? Date.parse(value.until) : Number.NaN
    return {
      reason: typeof value.reason === 'string' ? value.reason : 'no reason given',
      sinceMs: Number.isNaN(sinceMs) ? 0 : sinceMs,
      ...(Number.isNaN(untilMs) ? {} : { untilMs }),
    }
  } catch {
    return { reason: `unreadable entry in ConfigMap ${configMapName}: ${text.slice(0, 80)}`, sinceMs: 0 }
  }
}

/** Writes or clears a loop's pause. Running it twice changes nothing. */
export async function writePause(
  { client, namespace }: PauseDeps,
  loop: LoopName,
  pause: Pause | undefined,
): Promise<void> {
  const entry = pause === undefined ? null : formatPause(pause)
  await writeConfigMap(client, { name: configMapName, namespace }, { [loop]: entry })
}

function formatPause(pause: Pause): string {
  return JSON.stringify({
    reason: pause.reason,
    since: new Date(pause.sinceMs).toISOString(),
    ...(pause.untilMs === undefined ? {} : { until: new Date(pause.untilMs).toISOString() }),
  })
}

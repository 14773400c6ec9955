import { computed, signal } from '@preact/signals'

export type Route =
  | { readonly page: 'cluster' | 'decisions' | 'cost' | 'calendar' | 'plan' }
  | { readonly page: 'node'; readonly key: string }

const hash = signal(location.hash)
addEventListener('hashchange', () => {
  hash.value = location.hash
})

const pages = ['decisions', 'cost', 'calendar', 'plan'] as const

/** What the address asks for; an unknown one is the cluster's page. */
function parseRoute(text: string): Route {
  const [, page = '', key] = text.split('/')
  if (page === 'nodes' && key !== undefined && key !== '') return { page: 'node', key: decoded(key) }
  return { page: pages.find((each) => each === page) ?? 'cluster' }
}

export const route = computed(() => parseRoute(hash.value))

export const nodeLink = (key: string) => `#/nodes/${encodeURIComponent(key)}`

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Moves the focus among the links of a list by arrow keys, Home and End. The one that was left last is the one that the tabulator key reaches. */
export function moveByArrowKeys(event: KeyboardEvent & { readonly currentTarget: HTMLElement }): void {
  const links = [...event.currentTarget.querySelectorAll<HTMLElement>('a[tabindex]')]
  const at = links.indexOf(document.activeElement as HTMLElement)
  const to = target(event.key, { links, at })
  if (at === -1 || to === undefined) return
  event.preventDefault()
  links[at]?.setAttribute('tabindex', '-1')
  to.setAttribute('tabindex', '0')
  to.focus()
}

interface Place {
  readonly links: readonly HTMLElement[]
  readonly at: number
}

function target(key: string, { links, at }: Place): HTMLElement | undefined {
  switch (key) {
    case 'ArrowRight':
      return links[at + 1]
    case 'ArrowLeft':
      return links[at - 1]
    case 'ArrowDown':
      return links[at + perRow(links)]
    case 'ArrowUp':
      return links[at - perRow(links)]
    case 'Home':
      return links[0]
    case 'End':
      return links.at(-1)
    default:
      return undefined
  }
}

/** How many lie beside each other: those on the height of the first. */
function perRow(links: readonly HTMLElement[]): number {
  const top = links[0]?.offsetTop
  const next = links.findIndex(({ offsetTop }) => offsetTop !== top)
  return next === -1 ? links.length : next
}

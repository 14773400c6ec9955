/** Drawn on 16 by 16 with a line of 1.6. */
const paths = {
  up: 'M8 13V3.5M4 7.5l4-4 4 4',
  half: 'M8 2.5a5.5 5.5 0 1 1 0 11z M8 2.5a5.5 5.5 0 0 0 0 11',
  ring: 'M8 2.5a5.5 5.5 0 1 1-5.5 5.5',
  check: 'M3 8.5l3.5 3.5L13 4.5',
  down: 'M8 3v9.5M4 8.5l4 4 4-4',
  cross: 'M4 4l8 8M12 4l-8 8',
  square: 'M4 4h8v8H4z',
  dash: 'M3.5 8h9',
  clock: 'M8 2.5a5.5 5.5 0 1 0 .01 0M8 5v3.2l2 1.6',
  pause: 'M5.5 3.5v9M10.5 3.5v9',
  play: 'M5 3.5v9l7-4.5z',
  lock: 'M4 7.5h8v6H4zM5.5 7.5V5.2a2.5 2.5 0 0 1 5 0v2.3',
  alert: 'M8 2.5l6 11H2zM8 6.5v3.2M8 11.4v.4',
  out: 'M6 3.5H3.5v9h9V10M9 3.5h3.5V7M12.2 3.8L7.5 8.5',
  auto: 'M8 2.5a5.5 5.5 0 1 0 .01 0M8 2.5v11a5.5 5.5 0 0 0 0-11z',
  light:
    'M8 5.2a2.8 2.8 0 1 0 .01 0M8 1v1.6M8 13.4V15M1 8h1.6M13.4 8H15M3 3l1.2 1.2M11.8 11.8L13 13M3 13l1.2-1.2M11.8 4.2L13 3',
  dark: 'M12.8 9.6A5.3 5.3 0 0 1 6.4 3.2a5.3 5.3 0 1 0 6.4 6.4z',
} as const

export type IconName = keyof typeof paths

/** A sign beside a word that says the same, so nobody hears it. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" data-icon={name} viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  )
}

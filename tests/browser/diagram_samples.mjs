// Diagrams as models write them, and what each of them must show.

export const SAMPLES = {
    decision: {
        text: `flowchart TD
    A[Start] --> B{Is it working?}
    B -->|Yes| C[Great!]
    B -->|No| D[Debug]
    D --> E{Fixed?}
    E -- Yes --> C
    E -- No --> D
    C --> F([End])`,
        shows: ['Start', 'Is it working?', 'Yes', 'No', 'End'],
    },
    services: {
        text: `graph LR
    User[User / Browser] -->|HTTPS| LB[Load Balancer]
    LB --> Web1[Web Server 1] & Web2[Web Server 2] --> API[API Gateway]
    API --> Auth[Auth Service]
    API --> Orders[Order Service]
    Auth --> DB[(User DB)]
    Orders -.->|webhook| Stripe((Stripe))
    Orders ==> Queue>Message Queue]`,
        shows: ['HTTPS', 'Web Server 2', 'webhook', 'Message Queue'],
    },
    layers: {
        text: `flowchart TB
    subgraph Client["Client Layer"]
        Web[Web App]
        Mobile[Mobile App]
    end
    subgraph Backend["Backend Services"]
        GW[API Gateway] --> Auth[Auth Service]
        GW --> Core[Core Service]
        subgraph Jobs
            W[Worker]
        end
    end
    Web --> GW
    Mobile --> GW
    Core --> W
    Auth --> Redis[(Redis Cache)]
    classDef green fill:#9f6,stroke:#333
    class Web,Mobile green
    style GW fill:#f9f
    linkStyle 0 stroke:red
    click Web "javascript:alert(1)"`,
        shows: ['Client Layer', 'Backend Services', 'Jobs', 'Redis Cache'],
    },
    own_direction: {
        text: `flowchart LR
    subgraph CI [Continuous Integration]
        direction TB
        A[Commit] --> B[Build]
    end
    CI -->|artifact| D[Deploy]`,
        shows: ['Continuous Integration', 'Commit', 'artifact', 'Deploy'],
    },
    login: {
        text: `sequenceDiagram
    autonumber
    actor U as User
    participant F as Frontend (React)
    participant A as API Server
    U->>F: Enter credentials
    F->>+A: POST /login {email, password}
    alt valid password
        A->>A: Generate JWT
        A-->>F: 200 OK + token
    else invalid password
        A-->>-F: 401 Unauthorized
    end
    loop Every minute
        F-)A: refresh
    end
    Note over U,F: Token stored in an HttpOnly cookie`,
        shows: ['User', 'Enter credentials', 'Generate JWT', 'alt', '[valid password]', '[invalid password]', 'loop', '1', '6', 'Token stored in an HttpOnly cookie'],
    },
    states: {
        text: `stateDiagram-v2
    [*] --> Active
    state Active {
        [*] --> Off
        Off --> On : pressed
        On --> Off : pressed
    }
    state check <<choice>>
    Active --> check
    check --> Paused : n < 0
    check --> Stopped : n >= 0
    Paused --> Active
    Stopped --> [*]
    note right of Stopped : It is over`,
        shows: ['Active', 'Off', 'pressed', 'n < 0', 'It is over'],
    },
    classes: {
        text: `classDiagram
    class Animal {
        <<abstract>>
        +String name
        +makeSound() void
    }
    Animal <|-- Dog
    Owner "1" --> "*" Animal : owns
    class Owner {
        +List~Animal~ pets
    }
    Dog *-- Tail
    Food ..> Animal`,
        shows: ['«abstract»', 'Animal', '+makeSound() void', '+List<Animal> pets', 'owns', '1', '*'],
    },
    entities: {
        text: `erDiagram
    CUSTOMER ||--o{ ORDER : places
    ORDER ||--|{ LINE_ITEM : contains
    CUSTOMER {
        int id PK
        string email UK "unique per customer"
    }`,
        shows: ['CUSTOMER', 'places', 'LINE_ITEM', 'email', 'unique per customer'],
    },
    shares: {
        text: `pie title Time spent
    "Coding" : 45
    "Meetings" : 55`,
        shows: ['Time spent', 'Coding', '45%', '55%'],
    },
    plan: {
        text: `gantt
    title Project Plan
    dateFormat YYYY-MM-DD
    section Design
    Research   :done, des1, 2024-01-06, 2024-01-12
    Wireframes :active, des2, after des1, 5d
    section Launch
    Release    :milestone, m1, 2024-02-12, 0d`,
        shows: ['Project Plan', 'Design', 'Research', 'Wireframes', 'Release', '01-06'],
    },
    topics: {
        text: `mindmap
  root((Machine Learning))
    Supervised
      Regression
    Unsupervised
      [Clustering]`,
        shows: ['Regression', 'Clustering'],
    },
    history: {
        text: `timeline
    title History
    section Early
    2002 : LinkedIn
    2004 : Facebook : Google`,
        shows: ['History', 'Early', '2004', 'Google'],
    },
    versions: {
        text: `gitGraph
    commit id: "init"
    branch develop
    commit
    checkout main
    commit tag: "v1.0"
    merge develop
    commit type: HIGHLIGHT`,
        shows: ['main', 'develop', 'init', 'v1.0'],
    },
    campaigns: {
        text: `quadrantChart
    title Reach
    x-axis Low Reach --> High Reach
    y-axis Low --> High
    quadrant-1 Expand
    Campaign A: [0.3, 0.6]`,
        shows: ['Reach', 'High Reach', 'Expand', 'Campaign A'],
    },
    sales: {
        text: `xychart-beta
    title "Sales"
    x-axis [jan, feb, mar]
    y-axis "Revenue" 4000 --> 11000
    bar [5000, 6000, 7500]
    line [5000, 6000, 7500]`,
        shows: ['Sales', 'jan', 'Revenue', '4000', '10000'],
    },
    day: {
        text: `journey
    title My day
    section Work
      Make tea: 5: Me
      Do work: 1: Me, Cat`,
        shows: ['My day', 'Work', 'Do work', 'Cat'],
    },
}

const lines = (n, line) => Array.from({ length: n }, (_, i) => line(i)).join('\n')
const words = (n, word, separator = '') => Array.from({ length: n }, (_, i) => word(i)).join(separator)

/** Each must end soon; true: as a drawing. */
export const MONSTERS = {
    'a format of dates with sixty parts': ['gantt\ndateFormat ' + 'MM'.repeat(60) + '\nsection s\nx :a, ' + '1'.repeat(90) + 'x, 3d', false],
    'blanks before a separator of lines': ['classDiagram\nclass A' + ' '.repeat(500) + 'b\u2028c\nA <|-- B', false],
    'a name of signs': ['classDiagram\n' + '-'.repeat(16_000) + '~' + 'a'.repeat(33_000) + '|', false],
    'a name of letters without width': ['classDiagram\nclass ' + 'W'.repeat(40) + '\u200b'.repeat(49_000), false],
    'names of signs in lines that are not too long': ['classDiagram\n' + Array.from({ length: 49 }, () => '-'.repeat(300) + '~' + 'a'.repeat(600) + '|').join('\n'), false],
    'blanks in a message': ['sequenceDiagram\nA' + ' '.repeat(49_000) + 'B', false],
    'a dotted edge without an end': ['graph TD\nA -.' + '.'.repeat(49_000), false],
    'directives without an end': ['graph TD\nA-->B\n' + '%%{'.repeat(16_000), true],
    'ten thousand nodes': [`graph TD\n${lines(10_000, (i) => `A${i}-->B${i}`)}`, false],
    'every node with every other': [`graph TD\n${lines(40, (i) => lines(i, (j) => `A${j}-->A${i}`))}`, false],
    'fewer nodes, each with every other': [`graph TD\n${lines(18, (i) => lines(i, (j) => `A${j}-->A${i}`))}`, true],
    'a dense net': [`graph TD\n${lines(120, (i) => `A${(i * 7919) % 61}-->A${(i * 104_729 + 13) % 61}`)}`, true],
    'a product of lists': [`graph TD\n${words(60, (i) => `a${i}`, ' & ')} --> ${words(60, (i) => `b${i}`, ' & ')}`, false],
    'subgraphs without end': [`graph TD\n${lines(100, (i) => `subgraph s${i}`)}\na-->b\n${lines(100, () => 'end')}`, false],
    'a huge label': [`graph TD\nA["${'x'.repeat(40_000)}"]`, false],
    'a long word': [`graph TD\nA["${'x'.repeat(590)}"]`, true],
    'open brackets': [`graph TD\n${'A['.repeat(9000)}`, false],
    'open quotes': [`graph TD\nA${'["'.repeat(20_000)}`, false],
    'labels without end': [`graph TD\n${'A -- x '.repeat(5000)}`, false],
    'a long arrow': [`graph TD\nA${'-'.repeat(40_000)}B`, false],
    'blanks': [`graph TD\n${' '.repeat(49_000)}A`, false],
    'messages without end': [`sequenceDiagram\n${lines(1900, (i) => `A->>B: m${i}`)}`, false],
    'people without end': [`sequenceDiagram\n${lines(1900, (i) => `A${i}->>B: m`)}`, false],
    'loops without end': [`sequenceDiagram\n${lines(500, () => 'loop x')}\nA->>B: y\n${lines(500, () => 'end')}`, false],
    'hyphens': [`sequenceDiagram\n${'a-'.repeat(20_000)}`, false],
    'tildes': [`classDiagram\n${'~a'.repeat(20_000)}`, false],
    'members without end': [`classDiagram\nclass A {\n${lines(1000, (i) => `+m${i}()`)}\n}`, false],
    'dots': [`erDiagram\n${'a.'.repeat(20_000)}`, false],
    'colons': [`stateDiagram-v2\n${'a:'.repeat(20_000)}`, false],
    'a task for ever': ['gantt\nexcludes weekends\nA : 2024-01-01, 99999999999d', false],
    'numbers without distance': ['xychart-beta\nline [100000000000000, 100000000000000.03]', true],
    'commits without end': [`gitGraph\n${lines(1000, () => 'commit')}`, false],
    'a deep map': [`mindmap\n${lines(300, (i) => `${' '.repeat(i)}x`)}`, false],
    'names of objects': ['graph TD\n__proto__-->constructor\nconstructor-->toString', true],
    'a kind that is a name of objects': ['constructor\nA-->B', false],
}

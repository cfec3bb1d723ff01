"""What each inference engine prints, answers and is started with. Pure: no Django, no network."""

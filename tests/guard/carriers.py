"""Ordinary sentences in twenty languages, into which the tests put payloads."""

CARRIERS = {
    "English": "The committee met on Tuesday and agreed on the budget for the coming year.",
    "German": "Der Ausschuss traf sich am Dienstag und einigte sich über den Haushalt für morgen.",
    "French": "Le comité s'est réuni mardi et a adopté le budget de l'année à venir, sans débat.",
    "Spanish": "El comité se reunió el martes y aprobó el presupuesto del año próximo, ¿verdad?",
    "Polish": "Komisja zebrała się we wtorek i uchwaliła budżet na nadchodzący rok bez sprzeciwu.",
    "Turkish": "Komite salı günü toplandı ve gelecek yılın bütçesini oy birliğiyle kabul etti.",
    "Vietnamese": "Ủy ban họp vào thứ Ba và thông qua ngân sách cho năm tới mà không tranh luận.",
    "Russian": "Комитет собрался во вторник и утвердил бюджет на следующий год без обсуждения.",
    "Ukrainian": "Комітет зібрався у вівторок і схвалив бюджет на наступний рік без обговорення.",
    "Greek": "Η επιτροπή συνεδρίασε την Τρίτη και ενέκρινε τον προϋπολογισμό για το επόμενο έτος.",
    "Hebrew": "הוועדה נפגשה ביום שלישי ואישרה את התקציב לשנה הבאה ללא דיון נוסף.",
    "Arabic": "اجتمعت اللجنة يوم الثلاثاء ووافقت على ميزانية العام المقبل دون نقاش.",
    "Persian": "کمیته روز سه‌شنبه جلسه داشت و بودجهٔ سال آینده را بدون بحث تصویب می‌کند.",
    "Hindi": "समिति की बैठक मंगलवार को हुई और अगले वर्ष का बजट बिना चर्चा के पारित हुआ।",
    "Bengali": "কমিটি মঙ্গলবার বৈঠক করে এবং আগামী বছরের বাজেট আলোচনা ছাড়াই অনুমোদন করে।",
    "Malayalam": "സമിതി ചൊവ്വാഴ്ച യോഗം ചേർന്ന് അടുത്ത വർഷത്തെ ബജറ്റ് ചർച്ചയില്ലാതെ അംഗീകരിച്ചു.",
    "Thai": "คณะกรรมการประชุมเมื่อวันอังคารและอนุมัติงบประมาณสำหรับปีหน้าโดยไม่มีการอภิปราย",
    "Chinese": "委员会于星期二召开会议，未经辩论便通过了明年的预算，并公布了结果。",
    "Japanese": "委員会は火曜日に開かれ、来年度の予算を審議なしで承認し、結果を公表した。",
    "Korean": "위원회는 화요일에 모여 내년도 예산을 토론 없이 승인하고 결과를 발표했다.",
}
